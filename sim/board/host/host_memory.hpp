// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Carries out the card's requests: reads and writes of host memory, MSI and MSI-X messages.
//
// Reads are answered by the completer. Posted writes become visible in the order in which they
// arrive. A write stall holds up everything behind the write.
#pragma once

#include "faults/faults.hpp"
#include "host/completer.hpp"
#include "host/host.hpp"
#include "host/host_counters.hpp"
#include "host/host_timing.hpp"
#include "link/config_space.hpp"
#include "link/rules.hpp"

namespace lanebox {

class HostMemory {
public:
    HostMemory(Host &host, const ConfigSpace &config, const HostTiming &timing,
               HostCounters &counters, Rules &rules, Faults &faults, Random &random,
               const LinkDirection &downstream, const Time &now)
        : completer(config, timing, downstream, faults, random),
          host_(host),
          config_(config),
          timing_(timing),
          counters_(counters),
          rules_(rules),
          faults_(faults),
          random_(random),
          now_(now) {}

    // Carries out a write of the card: stores it, or raises the interrupt that it is. A fault may
    // change or lose it. A write that reaches outside the client's memory counts as unmapped.
    void write(Tlp &write);
    // Gives `completer` the data for a read of the card, or the error with which the read ends. A
    // read that reaches outside the client's memory ends with Unsupported Request, and counts as
    // unmapped.
    void read(const Tlp &read);
    // Returns true during a write stall, when the host accepts no posted write.
    bool stalled() const { return now_ < writes_from_; }
    // Begins a write stall now, which lasts for `length`. The end of an earlier stall is forgotten.
    void stall(Time length);
    void configure();  // Call it when MSI-X enable or mask in configuration space may have changed.
    void reset();      // Drops all completions that have not been sent, and ends a write stall.

    // Answers the card's reads. RootComplex takes the completions from it.
    Completer completer;

private:
    bool message(const Tlp &write);
    bool store(const Tlp &write);

    Host &host_;
    const ConfigSpace &config_;
    const HostTiming &timing_;
    HostCounters &counters_;
    Rules &rules_;
    Faults &faults_;
    Random &random_;
    const Time &now_;

    // The end of a write stall. The host accepts posted writes again from this time on.
    Time writes_from_ = 0;
    // RQ must not show an MSI-X message after this time, because MSI-X was disabled or masked.
    Time messages_until_ = 0;
};

}  // namespace lanebox
