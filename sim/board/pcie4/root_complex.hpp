// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Root complex and link: host memory for the card's requests, the card's BARs for the host's.
//
// A host access becomes as few TLPs as are legal: each is as long as MPS (writes) or MRRS (reads,
// the host's own choice) and the next 4 KiB boundary allow, with exact byte enables. Reads of the
// card are answered by the completer. Posted writes of the card become visible in the order in
// which they were sent; its reads and completions never pass them. Only a write with relaxed
// ordering, if Device Control allows it, may overtake TLPs before it. A write stall holds up
// everything behind the write. A host access spends half of `mmio_rtt` on its way to the link and
// half on its way back.
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
    bool mmio_full() const;  // the host has its maximum of reads in flight

    // --- any other requester behind the root, e.g. a peer device: request() sends a TLP unchanged,
    // with the requester's own ID and tag; completions with that ID go to its `answer` unchanged
    using Answer = std::function<void(const Tlp &completion)>;
    void request(Tlp request);
    size_t others_waiting() const { return others_out_.size(); }
    void answer_to(uint16_t requester, Answer answer) { answers_[requester] = std::move(answer); }

    // --- TLPs that are sent while the link is down are lost; reset() loses those under way
    uint64_t received() const { return received_; }  // TLPs taken from the card since the start
    void set_link_up(bool up) { link_up_ = up; }

    // --- the hard block's side
    void receive(Tlp tlp);  // taken from the pins at tlp.pins_at; crosses the link from there
    void run(Time now);     // carries out everything that is due by `now`
    // true: the block's transmit buffer is full and holds off the user. `requests`: asked for RQ;
    // completions (CC) do not wait for credits.
    bool transmit_full(Time now, bool requests) const;
    bool completion_arrived(Time now) const { return arrived(completions_in_, now); }
    uint64_t requests_sent() const { return requests_sent_; }  // user's requests on the wire
    // The next request for the user. `reads` false: the user has no credit for reads, which wait,
    // and posted writes pass them (PG213, "Selective Flow Control for Non-Posted Requests").
    bool request_arrived(Time now, bool reads) const { return deliverable(now, reads) != kNone; }
    Tlp take_request(Time now, bool reads);
    Tlp take_completion() { return take(completions_in_); }
    size_t completions_waiting(Time now) const;  // that have arrived

    bool idle() const;
    void reset();  // outstanding MMIO reads end with all ones
    // The function was reset. Requests that have not reached it are lost, and MMIO reads end with
    // all ones. Of the TLPs that it sent before, only posted writes are still carried out.
    void function_reset();
    void configure();  // configuration space was written: takes over MPS, link and MSI-X mask

    HostTiming timing;
    HostCounters counters;
    LinkDirection upstream, downstream;
    CreditPool upstream_credits, downstream_credits;  // the host's and the block's buffers

private:
    struct Timed {
        Time at;
        Tlp tlp;
        bool held = false;  // was due, but had no credit
    };
    struct Access {  // an MMIO read of software, which becomes one read TLP or several
        std::vector<uint8_t> data;
        unsigned reads;  // TLPs not answered yet
        bool ok = true;
        ReadDone done;
    };
    using AccessRef = std::shared_ptr<Access>;
    struct MmioRead {
        ReadProgress progress;
        unsigned at, bytes;  // its part of the access: offset and size in bytes
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
    Time writes_from_ = 0;  // a write stall ends: posted writes are accepted again
    bool link_up_ = true;
    uint64_t received_ = 0;
    Time messages_until_ = 0;  // last time at which an MSI-X message may appear on RQ
    Time lost_before_ = 0;     // reads and completions taken from the pins before it are lost

    std::deque<Timed> upstream_;            // on the wire to the host, by arrival
    std::deque<Timed> requests_out_;        // the CPU's, waiting at the root until they are ready
    std::deque<Timed> others_out_;          // those of other requesters behind the root
    std::deque<Timed> completions_in_;      // on the wire or in the block's buffer, by arrival
    std::deque<Timed> requests_in_;         // on the wire or in the block's buffer, by arrival
    std::deque<Finished> finished_;         // on the way back to the CPU
    std::map<uint8_t, MmioRead> mmio_;      // by tag
    std::map<uint16_t, Answer> answers_;    // by requester
    std::map<uint8_t, ReadProgress> late_;  // timed out: a late completion breaks no rule
    uint8_t next_tag_ = 0;
    std::deque<Tlp> transmit_;  // taken from the pins, not on the wire yet: no credit
    unsigned transmit_bytes_ = 0;
    uint64_t requests_sent_ = 0;
};

}  // namespace lanebox
