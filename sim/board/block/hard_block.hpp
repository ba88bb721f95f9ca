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

// Counts of one stream at the hard block's pins, since the start or the last clear_counters().
// `stalls` are the cycles in which a beat was offered and not taken.
struct StreamCounters {
    uint64_t tlps = 0, beats = 0, payload_bytes = 0, stalls = 0;
};

class HardBlock {
public:
    struct Settings {
        // The most credits for non-posted requests that the user may give the hard block.
        unsigned np_credits = numbers::kMmioReads;
        // Chance, in percent, that the hard block holds back a tready or a new TLP for a cycle.
        unsigned stall_percent = 0;
        uint64_t seed = 0;
        bool straddle = false;  // Straddle on RC: two read completions may share a beat.
        // Headers and data of read completions share one pool of room in the hard block.
        bool completion_pool = false;
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
    void reset();  // Call it when user_reset was set. TLPs at the hard block's pins are lost.
    // Begins a function level reset. TLPs that the user sends from now on are lost, and completions
    // of earlier reads are not shown, except a TLP that is at the pins already. The user must
    // acknowledge the reset within 100 ms.
    void begin_flr(Time now);
    // Returns true if the gateware did not acknowledge its last function level reset in time.
    bool flr_late() const { return flr_late_; }

    // Call it when the link goes down. TLPs of the user that have not left for the link are lost.
    void link_lost() { transmit_.lose(); }
    void set_link_up(bool up) { transmit_.set_link_up(up); }
    // Returns how many TLPs the user has sent since the start: on RQ, on CC, and as interrupts.
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
    bool rc_blocked_ = false;  // The gateware has refused the present beat on RC at least once.
    // The last completion that began on RC. A report of a broken rule of RC names it.
    Tlp rc_last_;
    // The tready of RQ and of CC that the gateware saw in the cycle that ends.
    bool rq_ready_ = false, cc_ready_ = false;
    // The time when the TLP at the pins of RQ or CC showed its first beat. 0: no TLP is at the
    // pins.
    Time rq_from_ = 0, cc_from_ = 0;
    uint8_t rq_first_be_ = 0, rq_last_be_ = 0;
    uint8_t cq_first_be_ = 0, cq_last_be_ = 0;
    unsigned np_credits_ = 0;
    // the card's outstanding reads, and the room that their completions need
    CompletionSpace reads_;
    uint8_t rq_seq_num_ = 0;
    // Sequence numbers of requests on RQ that the pins pcie_rq_seq_num* have not shown as sent yet.
    std::deque<uint8_t> sequence_;
    // How many of the requests that have left for the link have been shown on pcie_rq_seq_num*.
    uint64_t requests_shown_ = 0;
    // The values of the cfg_fc_* pins. They are computed again if the pin cfg_fc_sel differs from
    // fc_select_ or the credits have changed since fc_changes_.
    FcPins fc_;
    unsigned fc_select_ = ~0u;
    uint64_t fc_changes_ = 0;
    bool flr_late_ = false;
    Time flr_until_ = 0;  // cfg_flr_done must be set before this time.
    // cfg_power_state_change_ack must be set before this time. 0: no new power state waits for it.
    Time power_change_until_ = 0;
    // The TLP at the pins of RQ or CC began during a function level reset, so it is dropped.
    bool rq_lost_ = false, cc_lost_ = false;
    // From this time on the gateware has dealt with everything that was shown to it.
    Time quiet_from_ = 0;
    StreamCounters cq_, cc_, rq_, rc_;
};

}  // namespace lanebox
