// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The user pins of the hard block at one rising edge of user_clk: what the gateware drove, and what
// it will see from the next cycle on (all outputs are registers).
#pragma once

#include <array>
#include <cstdint>

#include "pcie4/units.hpp"

namespace lanebox {

struct Beat {
    bool valid = false;
    bool last = false;
    uint8_t keep = 0;  // one bit per dword
    std::array<uint32_t, kBeatDwords> data{};
};

struct PinsIn {
    Beat rq, cc;
    uint8_t rq_first_be = 0, rq_last_be = 0;  // s_axis_rq_tuser[7:0]
    bool cq_ready = false, rc_ready = false;
    uint32_t msi_int = 0;  // cfg_interrupt_msi_int
    uint8_t np_req = 0;    // pcie_cq_np_req, bit 0: one more credit
};

struct PinsOut {
    Beat cq, rc;
    uint8_t cq_first_be = 0, cq_last_be = 0;
    bool cq_first = false, rc_first = false;  // first beat of a TLP
    uint32_t cq_byte_en = 0, rc_byte_en = 0;  // payload bytes of the beat
    bool rq_ready = false, cc_ready = false;
    bool msi_sent = false, msi_fail = false;
    uint8_t np_credits = 0;  // pcie_cq_np_req_count
};

}  // namespace lanebox
