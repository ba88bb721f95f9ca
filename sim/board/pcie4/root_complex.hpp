// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Root complex and link: host memory for the card's requests, the card's BARs for the host's.
//
// A host access becomes as few TLPs as are legal: from its first byte on each as long as MPS
// (writes) or MRRS (reads, the host's own choice) and the next 4 KiB boundary allow, with exact
// byte enables. Reads from the card are answered by the completer. Posted writes become visible in
// the order in which they were sent, reads and completions never pass them; only a write with
// relaxed ordering, when Device Control allows it, may overtake what is before it. A root that has
// no room for writes holds up everything behind them. A host access spends half of `mmio_rtt` on
// its way to the link and half on its way back.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "pcie4/completer.hpp"
#include "pcie4/config_space.hpp"
#include "pcie4/credits.hpp"
#include "pcie4/faults.hpp"
#include "pcie4/host.hpp"
#include "pcie4/host_timing.hpp"
#include "pcie4/link.hpp"
#include "pcie4/read_progress.hpp"
#include "pcie4/rules.hpp"

namespace lanebox {

struct HostCounters {
    uint64_t msi = 0, msi_lost = 0, mmio_reads = 0, mmio_writes = 0, mmio_errors = 0;
    uint64_t completion_timeouts = 0, unmapped = 0, bytes_written = 0, bytes_read = 0;
    uint64_t overtaken = 0, write_stalls = 0;  // TLPs that a relaxed write passed; stalls drawn
};

class RootComplex {
public:
    // data: the bytes read, all ones when ok is false.
    using ReadDone = std::function<void(const uint8_t *data, bool ok)>;

    RootComplex(Host &host, const ConfigSpace &config, Rules &rules, Faults &faults)
        : upstream_credits(kHostBuffer),
          downstream_credits(kBlockBuffer),
          host_(host),
          config_(config),
          rules_(rules),
          faults_(faults) {}

    void seed(uint64_t seed) { random_.seed(seed); }

    // --- the CPU's side: `bytes` is 1 to 4096, `offset` counts from the start of the BAR
    void mmio_read(unsigned bar, uint64_t offset, unsigned bytes, ReadDone done);
    void mmio_write(unsigned bar, uint64_t offset, const void *data, unsigned bytes);
    bool requests_waiting() const {
        return !requests_out_.empty() || !others_out_.empty() || !requests_in_.empty();
    }
    bool mmio_full() const;  // as many reads as a host has in flight: it now waits for one

    // --- any other requester behind the root, e.g. a peer device: `request` goes out as it is,
    // with the requester's own id and tags, and completions that carry that id come back whole
    using Answer = std::function<void(const Tlp &completion)>;
    void request(Tlp request);
    size_t others_waiting() const { return others_out_.size(); }
    void answer_to(uint16_t requester, Answer answer) { answers_[requester] = std::move(answer); }

    // --- while the link is down whatever is sent is lost; reset() loses what is under way
    uint64_t received() const { return received_; }  // TLPs of the card, ever
    void set_link_up(bool up) { link_up_ = up; }

    // --- the hard block's side
    void receive(Tlp tlp);  // taken from the pins at tlp.pins_at; crosses the link from there
    void run(Time now);     // everything that has happened by now
    // The block's transmit buffer holds off the user; only requests wait for credits.
    bool transmit_full(Time now, bool requests) const;
    bool completion_arrived(Time now) const { return arrived(completions_in_, now); }
    uint64_t requests_sent() const { return requests_sent_; }  // of the user's, put on the wire
    // The next request for the user. Without `reads` it takes no read now, and posted writes pass
    // those that wait (PG213, "Selective Flow Control for Non-Posted Requests").
    bool request_arrived(Time now, bool reads) const { return deliverable(now, reads) != kNone; }
    Tlp take_request(Time now, bool reads);
    Tlp take_completion() { return take(completions_in_); }
    size_t completions_waiting(Time now) const;  // that have arrived

    bool idle() const;
    void reset();  // outstanding MMIO reads end with all ones
    // The function was reset: requests to it that have not reached it are lost, MMIO reads end with
    // all ones; of what it sent before only posted writes still count.
    void function_reset();
    void configure();  // Device Control was written

    HostTiming timing;
    HostCounters counters;
    LinkDirection upstream, downstream;
    CreditPool upstream_credits, downstream_credits;  // the host's and the block's buffers

private:
    struct Timed {
        Time at;
        Tlp tlp;
        bool held = false;  // was ready and had no credit
    };
    struct Access {  // what software asked for: one read or several
        std::vector<uint8_t> data;
        unsigned reads;  // not answered yet
        bool ok = true;
        ReadDone done;
    };
    using AccessRef = std::shared_ptr<Access>;
    struct MmioRead {
        ReadProgress progress;
        unsigned at, bytes;  // its part of the access
        Time deadline;
        AccessRef access;
    };
    struct Finished {
        Time at;
        AccessRef access;
    };

    // Receive buffers: posted, non-posted, completions (infinite towards both ends).
    static constexpr CreditPool::Limits kHostBuffer{{{128, 1024}, {128, 128}, {0, 0}}};
    static constexpr CreditPool::Limits kBlockBuffer{{{64, 1024}, {64, 64}, {0, 0}}};

    static bool arrived(const std::deque<Timed> &queue, Time now) {
        return !queue.empty() && queue.front().at <= now;
    }
    static Tlp take(std::deque<Timed> &queue);
    static constexpr size_t kNone = ~size_t{0};
    size_t deliverable(Time now, bool reads) const;
    void send_upstream();

    void handle(Tlp tlp);
    void overtake();
    bool stalled() const;
    void card_writes(Tlp &write);
    bool message(const Tlp &write);
    bool store(const Tlp &write);
    void card_reads(const Tlp &read);
    void card_completes(const Tlp &completion);
    bool completion_right(const MmioRead &read, const Tlp &completion);
    void finish(const MmioRead &read, bool ok, Time at);
    void end_mmio();
    bool came_late(const Tlp &completion);
    uint8_t free_tag();
    static Tlp host_request(TlpType type, uint64_t address, unsigned bytes);
    bool send_next();
    bool report(Tlp end);
    void send(Time ready, Tlp tlp);
    bool due(std::deque<Timed> &queue);
    void expire_reads();

    Host &host_;
    const ConfigSpace &config_;
    Rules &rules_;
    Faults &faults_;
    Random random_;
    Completer completer_{config_, timing, downstream, faults_, random_};
    Time now_ = 0;
    Time writes_from_ = 0;  // no posted write is accepted before
    bool link_up_ = true;
    uint64_t received_ = 0;
    Time messages_until_ = 0;  // MSI-X messages may leave the card
    Time lost_before_ = 0;     // reads and completions of the card that are older are lost

    std::deque<Timed> upstream_;        // on the wire to the host, by arrival
    std::deque<Timed> requests_out_;    // the CPU's, waiting at the root until they are ready
    std::deque<Timed> others_out_;      // other requesters'
    std::deque<Timed> completions_in_;  // in the block's receive buffers, by arrival
    std::deque<Timed> requests_in_;
    std::deque<Finished> finished_;         // on the way back to the CPU
    std::map<uint8_t, MmioRead> mmio_;      // by tag
    std::map<uint16_t, Answer> answers_;    // by requester
    std::map<uint8_t, ReadProgress> late_;  // timed out: what comes now is nobody's mistake
    uint8_t next_tag_ = 0;
    std::deque<Tlp> transmit_;  // taken from the pins, for want of credits not on the wire yet
    unsigned transmit_bytes_ = 0;
    uint64_t requests_sent_ = 0;
};

}  // namespace lanebox
