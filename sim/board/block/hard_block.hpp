// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The UltraScale+ PCIE4 block at its user pins: TLPs to and from beats, PG213's rules, credits
// towards the user, MSI, resets and power states of the function, counters. 256 bit, client tags.
//
// Not modelled: parity, messages, functions other than 0.
#pragma once

#include <deque>
#include <random>

#include "pcie4/completion_source.hpp"
#include "pcie4/completion_space.hpp"
#include "pcie4/pins.hpp"
#include "pcie4/root_complex.hpp"
#include "pcie4/stream.hpp"
#include "pcie4/tlp_log.hpp"

namespace lanebox {

struct StreamCounters {
    uint64_t tlps = 0, beats = 0, payload_bytes = 0, stalls = 0;
};

class HardBlock {
public:
    struct Settings {
        unsigned np_credits = 32;    // completer request credits that the user may hold
        unsigned stall_percent = 0;  // chance that a ready or a new TLP is held back for a cycle
        uint64_t seed = 0;
        bool straddle = false;         // two read completions may share a beat on RC
        bool completion_pool = false;  // completions' headers and data share one pool of room
    };

    HardBlock(RootComplex &root, ConfigSpace &config, Rules &rules, TlpLog &log,
              const Settings &settings);

    // One rising edge of user_clk at time `now`.
    void step(Time now, const PinsIn &in, PinsOut &out);

    // No TLP is outstanding, and the gateware has had the time to deal with what it was shown.
    bool idle(Time now) const;
    // The host got the answer to a read, which the gateware carried out after all that it was shown
    // before. The block need not wait for the gateware any longer: idle() holds at once, so that
    // device time until the host's next access is the host's alone.
    void settled(Time now) { quiet_from_ = now; }
    void reset();  // user_reset: what is at the pins is gone
    // Initiate FLR was written. TLPs that the user sends from now on are lost, and completions of
    // earlier reads are not shown, except the TLP that is on show already. The user must
    // acknowledge within 100 ms.
    void begin_flr(Time now);
    bool flr_late() const { return flr_late_; }  // the last FLR was not acknowledged in time

    // An access on cfg_mgmt_*; returns that dword of configuration space. A write changes nothing:
    // it is only checked against the user's windows.
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

    BeatSink rq_sink_, cc_sink_;
    OfferWatch rq_offer_, cc_offer_;
    BeatSource cq_source_;
    CompletionSource rc_source_;
    bool rc_blocked_ = false;                   // the beat on show has been refused once
    Tlp rc_last_;                               // the last completion that began on RC
    bool rq_ready_ = false, cc_ready_ = false;  // as the gateware saw them in the cycle that ends
    Time rq_from_ = 0, cc_from_ = 0;            // first beat of the TLP at the pins; 0: no TLP
    uint8_t rq_first_be_ = 0, rq_last_be_ = 0;
    uint8_t cq_first_be_ = 0, cq_last_be_ = 0;
    unsigned np_credits_ = 0;
    CompletionSpace reads_;  // the card's outstanding reads
    uint8_t rq_seq_num_ = 0;
    std::deque<uint8_t> sequence_;  // sequence numbers that have not been shown as sent yet
    uint64_t requests_shown_ = 0;   // how many of RootComplex::requests_sent() have been shown
    FcPins fc_;                     // for fc_select_, after fc_changes_ changes of the credits
    unsigned fc_select_ = ~0u;
    uint64_t fc_changes_ = 0;
    bool flr_late_ = false;
    Time flr_until_ = 0;           // deadline of cfg_flr_done
    Time power_change_until_ = 0;  // deadline of cfg_power_state_change_ack, 0: none is awaited
    bool rq_lost_ = false, cc_lost_ = false;  // the TLP at the pins began during an FLR
    Time quiet_from_ = 0;  // by then the gateware has dealt with what it was shown
    StreamCounters cq_, cc_, rq_, rc_;
};

}  // namespace lanebox
