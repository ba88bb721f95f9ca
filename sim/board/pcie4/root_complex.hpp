// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Root complex and link: host memory for the card's requests, the card's BAR for the host's.
//
// Reads from the card are answered `read_latency` after their last RQ beat, split at
// `completion_size`, in order. Posted writes become visible in order when they have crossed the
// link. A host access spends half of `mmio_rtt` on its way to the link and half on its way back.
// Not modelled: reordering across tags, latency distributions, write stalls.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>

#include "pcie4/config_space.hpp"
#include "pcie4/faults.hpp"
#include "pcie4/host.hpp"
#include "pcie4/link.hpp"
#include "pcie4/rules.hpp"

namespace lanebox {

struct HostTiming {
    Time read_latency = 600 * kNanosecond;
    Time mmio_rtt = 700 * kNanosecond;
    unsigned completion_size = 0;  // bytes; 0: as large as MPS allows
};

struct HostCounters {
    uint64_t msi = 0, msi_lost = 0, mmio_reads = 0, mmio_writes = 0, mmio_errors = 0;
    uint64_t completion_timeouts = 0, unmapped = 0, bytes_written = 0, bytes_read = 0;
};

class RootComplex {
public:
    // data: the bytes read, all ones when ok is false.
    using ReadDone = std::function<void(const uint8_t *data, bool ok)>;

    RootComplex(Host &host, const ConfigSpace &config, Rules &rules, Faults &faults)
        : host_(host), config_(config), rules_(rules), faults_(faults) {}

    // --- the CPU's side: `bytes` is 1 to 8, `offset` counts from the start of BAR0
    void mmio_read(uint64_t offset, unsigned bytes, ReadDone done);
    void mmio_write(uint64_t offset, const void *data, unsigned bytes);
    bool requests_waiting() const { return !requests_out_.empty() || !requests_in_.empty(); }
    bool mmio_full() const;  // as many reads as a host has in flight: it now waits for one

    // --- the hard block's side
    void receive(Tlp tlp);  // taken from the pins at tlp.pins_at; crosses the link from there
    void run(Time now);     // everything that has happened by now
    bool transmit_full(Time now) const;  // the block's transmit buffer holds off the user
    bool completion_arrived(Time now) const { return arrived(completions_in_, now); }
    bool request_arrived(Time now) const { return arrived(requests_in_, now); }
    const Tlp &next_request() const { return requests_in_.front().tlp; }
    Tlp take_completion() { return take(completions_in_); }
    Tlp take_request();
    size_t completions_waiting(Time now) const;  // that have arrived

    bool idle() const;
    void reset();      // outstanding MMIO reads end with all ones
    void configure();  // Device Control was written

    HostTiming timing;
    HostCounters counters;
    LinkDirection upstream, downstream;

private:
    struct Timed {
        Time at;
        Tlp tlp;
    };
    struct MmioRead {
        uint64_t address;
        unsigned bytes;
        Time deadline;
        ReadDone done;
    };
    struct Finished {
        Time at;
        std::array<uint8_t, 8> data;
        bool ok;
        ReadDone done;
    };

    static bool arrived(const std::deque<Timed> &queue, Time now) {
        return !queue.empty() && queue.front().at <= now;
    }
    static Tlp take(std::deque<Timed> &queue);

    void handle(Tlp tlp);
    void card_writes(Tlp &write);
    bool store(const Tlp &write);
    void card_reads(const Tlp &read);
    void complete_read(const Tlp &read, const std::vector<uint32_t> &data);
    void refuse_read(const Tlp &read);
    void answer(const Tlp &read, Tlp completion);
    void card_completes(const Tlp &completion);
    bool completion_right(const MmioRead &read, const Tlp &completion);
    void finish(MmioRead read, const Tlp *completion, Time at);
    void send_downstream();
    bool request_credit(const Tlp &request) const;
    void expire_reads();

    Host &host_;
    const ConfigSpace &config_;
    Rules &rules_;
    Faults &faults_;
    Time now_ = 0;

    std::deque<Timed> upstream_;         // on the wire to the host, by arrival
    std::deque<Timed> completions_out_;  // waiting at the root, by the time they are ready
    std::deque<Timed> requests_out_;
    std::deque<Timed> completions_in_;  // in the block's receive buffers, by arrival
    std::deque<Timed> requests_in_;
    std::deque<Finished> finished_;     // on the way back to the CPU
    std::map<uint8_t, MmioRead> mmio_;  // by tag
    uint8_t next_tag_ = 0;
    unsigned posted_in_ = 0, non_posted_in_ = 0;
};

}  // namespace lanebox
