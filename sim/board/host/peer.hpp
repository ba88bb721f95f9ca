// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A peer device: another device behind the root complex that reads and writes a BAR of the card, as
// an NVMe drive does. It sends whole requests back to back or paced, uses many tags, and checks
// every completion.
//
// Requests walk from `offset` in steps of their size and begin again at `offset` when they reach
// the end of its 4 KiB page. A write stores peer_pattern() of each dword's offset in the BAR. A
// read counts dwords that hold another value as mismatches, not as errors: a register is not
// memory.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/read_progress.hpp"
#include "host/root_complex.hpp"

namespace lanebox {

// Returns the dword that a write of the peer stores at byte `offset` of the BAR.
uint32_t peer_pattern(uint64_t offset);

class Peer {
public:
    struct Job {
        bool write = false;
        unsigned bar = 0;     // the card's BAR that the peer accesses: 0 or 2
        uint64_t offset = 0;  // byte offset of the first request in the BAR, a multiple of 4
        unsigned size = 4;    // bytes of each request of the peer
        uint64_t count = 0;   // number of requests of the job
        unsigned tags = 1;    // the most reads of the peer that are in flight
        Time gap = 0;         // the least time from one request of the peer to the next
    };
    struct Counters {
        // Requests that were sent, requests that are done (a write is done when it is sent), and
        // payload bytes of both directions.
        uint64_t issued = 0, completed = 0, bytes = 0;
        // Completions that the peer got with an error status, or that break the specification.
        uint64_t errors = 0;
        uint64_t timeouts = 0;  // reads by the peer that were not answered within 1 ms
        // Dwords that the peer read and that differ from what it would have written at that offset.
        uint64_t mismatches = 0;
        // Times when the job's first request was sent, and when its last request ended.
        Time first = 0, last = 0;
    };

    Peer(RootComplex &root, const ConfigSpace &config, Rules &rules);

    // Begins a job, with all counters at 0. Throws std::invalid_argument if the job breaks a rule;
    // the text names the rule.
    void start(const Job &job);
    // Sends the requests that are due at `now`, and ends reads that have timed out.
    void run(Time now);
    // Returns true if the job has no request left to send and no read without an answer.
    bool idle() const { return left_ == 0 && reads_.empty(); }
    void reset();  // Ends the peer's job. Its reads in flight count as errors.

    const Counters &counters() const { return counters_; }

private:
    struct Read {
        ReadProgress progress;
        Time deadline;
    };

    void issue();
    bool may_issue() const;
    Tlp request(uint64_t address) const;
    void answered(const Tlp &completion);
    void compare(const ReadProgress &read, const Tlp &completion);
    void finish(uint8_t tag);
    void expire();

    RootComplex &root_;
    const ConfigSpace &config_;
    Rules &rules_;
    Job job_;
    Counters counters_;
    uint64_t left_ = 0, at_ = 0;
    Time now_ = 0, next_at_ = 0;
    std::map<uint8_t, Read> reads_;
    std::vector<uint8_t> free_tags_;
};

}  // namespace lanebox
