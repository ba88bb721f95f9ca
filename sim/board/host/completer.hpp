// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The root complex as completer of the card's reads. It decides into which completions the answer
// to a read is split, and when each of them arrives.
//
// Each completion has a random latency of its own, counted from the read's last RQ beat. It never
// leaves before an earlier completion of the same read. So completions of different reads may
// overtake each other and interleave, and those of one read stay in order. With `reorder` off,
// reads are answered in the order in which they were sent.
#pragma once

#include <map>

#include "faults/faults.hpp"
#include "host/host_timing.hpp"
#include "link/config_space.hpp"
#include "link/link.hpp"

namespace lanebox {

// Takes the card's reads from HostMemory, and keeps their completions until RootComplex sends them
// (base specification 2.3.1.1). The parameter `now` is the time at which the read is carried out.
class Completer {
public:
    // Keeps references to all arguments. `downstream` is the link from the host to the card.
    Completer(const ConfigSpace &config, const HostTiming &timing, const LinkDirection &downstream,
              Faults &faults, Random &random)
        : config_(config),
          timing_(timing),
          downstream_(downstream),
          faults_(faults),
          random_(random) {}

    // Answers a read with `data`, which has read.dwords dwords. HostTiming::split says where the
    // read's completions end. None of them has more bytes than the programmed MPS.
    void complete(const Tlp &read, const std::vector<uint32_t> &data, Time now);
    // Answers a read with one completion without data, whose status is `status`: Unsupported
    // Request or Completer Abort.
    void refuse(const Tlp &read, CplStatus status, Time now);

    // Leaves a read without an answer. The hard block ends the read when the completion timeout of
    // Device Control 2 is over. If that timeout is disabled, no TLP ever ends the read.
    void lose(const Tlp &read);

    // Completions that wait for the link, in the order of the times at which their last byte should
    // have crossed the link. next_at() returns this time for the first completion, next() returns
    // the first completion, and take() removes and returns it. None of the three may be called
    // while empty() is true.
    bool empty() const { return waiting_.empty(); }
    Time next_at() const { return waiting_.begin()->first; }
    const Tlp &next() const { return waiting_.begin()->second; }
    Tlp take();
    void reset();  // Drops all waiting completions, so the reads that they answer get no answer.

private:
    void begin(const Tlp &read);
    void answer(Tlp completion, Time now);
    static Tlp stray(const Tlp &completion);
    unsigned piece(uint64_t address, unsigned left);

    const ConfigSpace &config_;
    const HostTiming &timing_;
    const LinkDirection &downstream_;
    Faults &faults_;
    Random &random_;

    Time translated_ = 0;  // the time when the IOMMU has translated the present read's address
    // The next completion arrives no earlier than this time. So the completions of one read stay in
    // order, and with `reorder` off those of all reads.
    Time not_before_ = 0;
    // The completions that wait for the link, by the times at which they should arrive.
    std::multimap<Time, Tlp> waiting_;
};

}  // namespace lanebox
