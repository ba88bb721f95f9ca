// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Both directions of the link, their credits, and the TLPs that are on the link or in a receive
// buffer.
//
// Towards the host, TLPs arrive in the order in which they were sent. Only a posted write with
// relaxed ordering, if Device Control allows it, may overtake TLPs before it. Towards the card,
// requests and completions wait in buffers of their own, as in the hard block.
#pragma once

#include <deque>

#include "faults/faults.hpp"
#include "host/host_counters.hpp"
#include "host/host_timing.hpp"
#include "link/config_space.hpp"
#include "link/credits.hpp"
#include "link/link.hpp"

namespace lanebox {

// A TLP, and the time at which it is ready to be sent or at which it arrives.
struct Timed {
    Time at;
    Tlp tlp;
    bool held = false;  // the TLP was ready to be sent, but had no credit
};

// The link between root complex and hard block. Upstream is the direction from the card to the
// host, downstream the one from the host to the card.
class HostLink {
public:
    HostLink(const ConfigSpace &config, const HostTiming &timing, HostCounters &counters,
             Faults &faults, Random &random, const Time &now)
        : upstream_credits(kHostBuffer),
          downstream_credits(kBlockBuffer),
          config_(config),
          timing_(timing),
          counters_(counters),
          faults_(faults),
          random_(random),
          now_(now) {}

    void update() {  // Gives both senders the credits that have come back to them by now.
        upstream_credits.update(now_);
        downstream_credits.update(now_);
    }
    // Sets both directions to the MPS, rate and width that configuration space shows.
    void configure();

    // --- towards the host
    // Returns true if the card has the host's credits for this TLP (base specification 2.6.1).
    bool host_takes(const Tlp &tlp) const { return upstream_credits.allows(tlp); }
    // Sends a TLP of the card to the host, no earlier than `ready`, and uses up its credits. The
    // caller has checked with host_takes() that they are there.
    void to_host(Time ready, Tlp tlp);
    // at_host() returns true if a TLP of the card has arrived at the host. Only then may
    // next_at_host() look at the first TLP that arrived, and take_at_host() remove and return it.
    // Its credits go back to the card with the host's next update.
    bool at_host() const { return arrived(to_host_); }
    const Tlp &next_at_host() const { return to_host_.front().tlp; }
    Tlp take_at_host();

    // --- towards the card
    // Returns true if the first TLP of `queue` has a credit and must be sent now to arrive on time.
    bool due(std::deque<Timed> &queue);
    // Sends a TLP to the card, no earlier than `ready`, and uses up its credits, which due() has
    // checked. Completions need none. Returns the time at which the TLP's last byte arrives.
    Time to_card(Time ready, Tlp tlp);
    // Queues the hard block's own report of a completion timeout, which does not cross the link.
    // The report waits behind the completions that have arrived.
    void report(Tlp end);
    // The next request for the gateware: request_at_card() returns true if one has arrived that may
    // be shown, and only then take_request() removes and returns it. With `reads` false the
    // gateware has given no credit for reads, so reads wait and posted writes pass them (PG213,
    // "Selective Flow Control for Non-Posted Requests").
    bool request_at_card(bool reads) const { return deliverable(reads) != kNone; }
    Tlp take_request(bool reads);
    bool completion_at_card() const { return arrived(completions_); }
    // Returns how many completions have arrived and are not taken yet.
    size_t completions_at_card() const;
    // Removes and returns the first completion. Call it only while completion_at_card() is true.
    Tlp take_completion() { return take(completions_); }
    // Returns true if a request is on the link to the card, or waits in the hard block's buffer.
    bool requests_under_way() const { return !requests_.empty(); }

    bool idle() const { return to_host_.empty() && completions_.empty() && requests_.empty(); }
    void lose_all();  // Call it when the link was reset: all TLPs on the link are lost.
    // Call it when the card's function was reset. TLPs that have not reached the function are lost.
    void lose_to_card();

    // Removes the first TLP of `queue`, which must not be empty, and returns it.
    static Tlp take(std::deque<Timed> &queue);

    LinkDirection upstream, downstream;
    // Credits of the host's receive buffer (upstream) and of the hard block's (downstream).
    CreditPool upstream_credits, downstream_credits;

private:
    // The credits of the two receive buffers, as {headers, data}, for posted requests, non-posted
    // requests and completions. A data credit is 16 bytes. {0, 0} means infinite credits.
    static constexpr CreditPool::Limits kHostBuffer{{{128, 1024}, {128, 128}, {0, 0}}};
    static constexpr CreditPool::Limits kBlockBuffer{{{64, 1024}, {64, 64}, {0, 0}}};
    static constexpr size_t kNone = ~size_t{0};

    bool arrived(const std::deque<Timed> &queue) const {
        return !queue.empty() && queue.front().at <= now_;
    }
    size_t deliverable(bool reads) const;
    void overtake();

    const ConfigSpace &config_;
    const HostTiming &timing_;
    HostCounters &counters_;
    Faults &faults_;
    Random &random_;
    const Time &now_;

    // TLPs on the link or in a receive buffer, in the order of their arrival. `completions_` and
    // `requests_` are towards the card.
    std::deque<Timed> to_host_, completions_, requests_;
};

}  // namespace lanebox
