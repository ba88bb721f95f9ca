// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// PG213 descriptors of the four user interfaces, both ways (chapter "Descriptor formats").
//
// CQ and RQ put 4 dwords in front of the payload, CC and RC 3.
#pragma once

#include <vector>

#include "pcie4/tlp.hpp"

namespace lanebox {

constexpr unsigned kRequestDescriptorDwords = 4;
constexpr unsigned kCompletionDescriptorDwords = 3;

// Descriptor and payload as the hard block shows them to the user.
std::vector<uint32_t> encode_cq(const Tlp &request, unsigned bar, unsigned bar_aperture_bits);
std::vector<uint32_t> encode_rc(const Tlp &completion);

// A TLP from the dwords that the user put on RQ or CC. `first_be`/`last_be` come from tuser on RQ.
// The payload is all that follows the descriptor; the rules compare its length with the dword
// count.
Tlp decode_rq(const std::vector<uint32_t> &dwords, uint8_t first_be, uint8_t last_be);
Tlp decode_cc(const std::vector<uint32_t> &dwords);
// The request that a completion with an error refuses: PG213 has the user put its byte enables and
// its descriptor behind the completion's own.
Tlp refused_request(const Tlp &completion);

}  // namespace lanebox
