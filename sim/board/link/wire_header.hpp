// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A TLP's header as it goes over the link (base specification 2.2).
//
// The model assigns no bus numbers. In a TLP that carries no ID the card is 01:00.0, and the host
// is 00:00.0.
#pragma once

#include <array>
#include <cstdint>

#include "link/tlp.hpp"

namespace lanebox {

// A TLP's header in dwords. Each dword is a number, whose most significant byte goes out first.
struct WireHeader {
    std::array<uint32_t, 4> dwords{};
    unsigned count = 3;
};
WireHeader wire_header(const Tlp &tlp, bool from_card);

// Returns how many bytes of payload the TLP has on the link. An error completion has none.
unsigned wire_payload_bytes(const Tlp &tlp);

}  // namespace lanebox
