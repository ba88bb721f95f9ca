// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The user pins of the hard block at one rising edge of user_clk: what the gateware drove, and what
// the gateware will see from the next cycle on (all outputs of the hard block are registers).
#pragma once

#include <array>
#include <cstdint>

#include "link/units.hpp"

namespace lanebox {

struct Beat {
    bool valid = false;
    bool last = false;
    uint8_t keep = 0;  // the pins tkeep: bit n is 1 if dword n of the beat is used
    std::array<uint32_t, kBeatDwords> data{};
};

struct PinsIn {
    Beat rq, cc;
    // byte enables of a request's first and last dword: s_axis_rq_tuser[7:0]
    uint8_t rq_first_be = 0, rq_last_be = 0;
    bool cq_ready = false, rc_ready = false;
    uint32_t msi_int = 0;  // the pins cfg_interrupt_msi_int, by which the gateware asks for an MSI
    // The pins pcie_cq_np_req. Bit 0 gives the hard block one more credit for a non-posted request.
    uint8_t np_req = 0;
    uint8_t rq_seq_num = 0;  // a request's sequence number: s_axis_rq_tuser[61:60,27:24]
    uint8_t fc_sel = 0;      // the pins cfg_fc_sel, which choose the credits that cfg_fc_* show
    // the pin cfg_flr_done[0]: the gateware has ended its function level reset
    bool flr_done = false;
    // the pin cfg_power_state_change_ack: the gateware knows its new power state
    bool power_ack = false;
};

// The pins cfg_fc_* for posted, non-posted and completion credits (headers: ph, nph, cplh; data:
// pd, npd, cpld). The pin cfg_fc_sel chooses which credits they show.
struct FcPins {
    uint8_t ph = 0, nph = 0, cplh = 0;
    uint16_t pd = 0, npd = 0, cpld = 0;
};

struct SeqNum {  // A sequence number on pcie_rq_seq_num0 or pcie_rq_seq_num1, with its vld pin.
    uint8_t value = 0;
    bool valid = false;
};

struct PinsOut {
    Beat cq, rc;
    uint8_t cq_first_be = 0, cq_last_be = 0;
    bool cq_first = false;  // the beat on CQ is the first one of a TLP
    uint8_t rc_sof = 0, rc_eof0 = 0, rc_eof1 = 0;
    // The byte_en of CQ and RC: bit n is 1 if byte n of the beat is payload.
    uint32_t cq_byte_en = 0, rc_byte_en = 0;
    bool rq_ready = false, cc_ready = false;
    bool msi_sent = false, msi_fail = false;
    // pcie_cq_np_req_count: the non-posted credits that the gateware has given
    uint8_t np_credits = 0;
    uint8_t tag_av = 0;  // pcie_rq_tag_av: how many tags are free for reads of the card
    // Credits that the card has for non-posted requests: pcie_tfc_nph_av (headers), pcie_tfc_npd_av
    // (data).
    uint8_t nph_av = 0, npd_av = 0;
    std::array<SeqNum, 2> seq_num{};
    FcPins fc;
};

}  // namespace lanebox
