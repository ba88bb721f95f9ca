// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The model of the UltraScale+ PCIE4 hard block at its user pins, with a 256-bit interface and tags
// chosen by the user logic. It turns TLPs into beats and back, checks PG213's rules, gives credits,
// sends MSI, carries out resets and power states of the function, and counts.
//
// Not modelled: parity, messages, functions other than 0. In this file "the user" is the logic at
// the user pins: the gateware.
#pragma once

#include <deque>
#include <random>

#include "block/completion_source.hpp"
#include "block/completion_space.hpp"
#include "block/pins.hpp"
#include "block/stream.hpp"
#include "block/transmit_buffer.hpp"
#include "host/root_complex.hpp"
#include "link/numbers.hpp"
#include "trace/tlp_log.hpp"

namespace lanebox {

struct StreamCounters {
    uint64_t tlps = 0, beats = 0, payload_bytes = 0, stalls = 0;
};

class HardBlock {
public:
    struct Settings {
        unsigned np_credits =
            numbers::kMmioReads;  // most credits for non-posted requests that the user may hold
        // chance in percent that a ready or a new TLP is held back for a cycle
        unsigned stall_percent = 0;
        uint64_t seed = 0;
        bool straddle = false;         // two read completions may share a beat on RC
        bool completion_pool = false;  // completions' headers and data share one pool of room
    };

    HardBlock(RootComplex &root, ConfigSpace &config, Rules &rules, TlpLog &log,
              const Settings &settings);

    // Carries out one rising edge of user_clk at time `now`.
    void step(Time now, const PinsIn &in, PinsOut &out);

    // Returns true if no TLP is outstanding, and the gateware has had the time to deal with
    // everything that was shown to it.
    bool idle(Time now) const;
    // Call it when the host has got the answer to a BAR read. The gateware has then dealt with
    // everything that was shown to it before that read. So idle() is true at once, and device time
    // does not run on until the host's next access.
    void settled(Time now) { quiet_from_ = now; }
    void reset();  // user_reset was set: TLPs at the hard block's pins are lost
    // Begins a function level reset. TLPs that the user sends from now on are lost, and completions
    // of earlier reads are not shown, except a TLP that is at the pins already. The user must
    // acknowledge the reset within 100 ms.
    void begin_flr(Time now);
    // the card did not acknowledge its last FLR in time
    bool flr_late() const { return flr_late_; }

    void link_lost() { transmit_.lose(); }  // TLPs that have not left for the link are lost
    void set_link_up(bool up) { transmit_.set_link_up(up); }
    // Returns how many TLPs the user has sent on RQ and CC since the start.
    uint64_t received() const { return transmit_.received(); }

    // Carries out an access on cfg_mgmt_*, and returns that dword of configuration space. A write
    // changes nothing: it is only checked that its address is one that the user may write.
    uint32_t manage(unsigned dword, bool write, uint32_t data);

    const StreamCounters &cq() const { return cq_; }
    const StreamCounters &cc() const { return cc_; }
    const StreamCounters &rq() const { return rq_; }
    const StreamCounters &rc() const { return rc_; }
    void clear_counters();
    void set_stall(unsigned percent) { settings_.stall_percent = percent; }

private:
    void accept_rq(Time now, const PinsIn &in);
    void accept_cc(Time now, const PinsIn &in);
    void end_of_flr(Time now, const PinsIn &in);
    void power_change(Time now, const PinsIn &in);
    void check_request(const Tlp &tlp);
    void check_read(const Tlp &tlp);
    void check_completion(const Tlp &tlp);
    void take_interrupt(Time now, const PinsIn &in, PinsOut &out);
    void show_cq(Time now, const PinsIn &in, PinsOut &out);
    void show_rc(Time now, const PinsIn &in, PinsOut &out);
    void load_cq(Time now, Tlp tlp);
    void load_rc(Time now);
    void report(const Tlp &tlp);
    void show_ready(Time now, PinsOut &out);
    void show_sequence(PinsOut &out);
    void show_credits(const PinsIn &in, PinsOut &out);
    bool held_back() {
        return settings_.stall_percent && random_() % 100 < settings_.stall_percent;
    }
    void active(Time now, Time lasting);

    RootComplex &root_;
    ConfigSpace &config_;
    Rules &rules_;
    TlpLog &log_;
    Settings settings_;
    std::mt19937_64 random_;
    TransmitBuffer transmit_;

    BeatSink rq_sink_, cc_sink_;
    OfferWatch rq_offer_, cc_offer_;
    BeatSource cq_source_;
    CompletionSource rc_source_;
    bool rc_blocked_ = false;  // the present beat on RC was refused at least once
    // the last completion that began on RC, for reports of rules
    Tlp rc_last_;
    bool rq_ready_ = false, cc_ready_ = false;  // tready of RQ and CC in the cycle that ends
    Time rq_from_ = 0, cc_from_ = 0;  // when the TLP at the pins showed its first beat; 0: no TLP
    uint8_t rq_first_be_ = 0, rq_last_be_ = 0;
    uint8_t cq_first_be_ = 0, cq_last_be_ = 0;
    unsigned np_credits_ = 0;
    CompletionSpace reads_;  // the card's outstanding reads
    uint8_t rq_seq_num_ = 0;
    std::deque<uint8_t> sequence_;  // sequence numbers that have not been shown as sent yet
    uint64_t requests_shown_ = 0;   // how many of transmit_.requests_sent() have been shown
    // cfg_fc_* pins for fc_select_, after fc_changes_ credit changes
    FcPins fc_;
    unsigned fc_select_ = ~0u;
    uint64_t fc_changes_ = 0;
    bool flr_late_ = false;
    Time flr_until_ = 0;           // when cfg_flr_done must have come at the latest
    Time power_change_until_ = 0;  // deadline of cfg_power_state_change_ack; 0: no power change
    // the TLP at the pins of RQ or CC began during an FLR, so it is lost
    bool rq_lost_ = false, cc_lost_ = false;
    Time quiet_from_ = 0;  // when the gateware will have dealt with everything shown to it
    StreamCounters cq_, cc_, rq_, rc_;
};

}  // namespace lanebox
