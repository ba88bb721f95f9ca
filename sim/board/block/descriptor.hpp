// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Makes and parses PG213's descriptors, which stand in front of the payload on CQ, CC, RQ and RC
// (chapter "Descriptor formats"). They have 4 dwords on CQ and RQ, and 3 on CC and RC.
#pragma once

#include <vector>

#include "link/tlp.hpp"

namespace lanebox {

// Makes the dwords, descriptor and payload, that the hard block shows to the gateware on CQ or RC.
std::vector<uint32_t> encode_cq(const Tlp &request, unsigned bar, unsigned bar_aperture_bits);
std::vector<uint32_t> encode_rc(const Tlp &completion);

// Return the TLP whose dwords the gateware sent on RQ or CC. On RQ `first_be` and `last_be` come
// from tuser. All dwords behind the descriptor are payload; the rules compare the payload's length
// with the dword count. If there are fewer dwords than a descriptor has, the TLP is empty and its
// type is Other.
Tlp decode_rq(const std::vector<uint32_t> &dwords, uint8_t first_be, uint8_t last_be);
Tlp decode_cc(const std::vector<uint32_t> &dwords);
// Returns the request that an error completion on CC refuses. PG213 demands that the user logic
// sends the request's byte enables and descriptor behind the completion's own descriptor.
Tlp refused_request(const Tlp &completion);

}  // namespace lanebox
