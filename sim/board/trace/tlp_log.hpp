// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The trace of every TLP at the pins. FILE.pcapng gets the packets themselves, which Wireshark
// opens and `python -m sim.trace` converts; any other name gets a text line for each TLP.
//
// Without a file a TLP costs one test of a pointer.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "pcie4/tlp.hpp"

namespace lanebox {

// How long a TLP takes at 256-bit pins when nothing holds it up and it shares no beat.
Time unhindered(const char *interface, const Tlp &tlp);

class TlpLog {
public:
    // One way to write a TLP down. `span`: from the first beat's appearance until the last one was
    // taken, 0 when that was not seen.
    class Sink {
    public:
        virtual ~Sink() = default;
        virtual void write(const char *interface, Time at, Time span, const Tlp &tlp) = 0;
    };

    // No path: nothing is written. Throws std::runtime_error when the file cannot be made.
    explicit TlpLog(const std::string &path);
    ~TlpLog() { abandon(); }

    // RQ and CC, when the last beat has been taken: `at` that time, `from` that of the first beat.
    void write(const char *interface, Time from, Time at, const Tlp &tlp) {
        if (sink_) put({interface, at, at - from, false, tlp});
    }
    // CQ and RC: the first beat is shown at `at`. Later TLPs wait in memory until this one has
    // ended, so that the trace stays in the order of first beats.
    void begin(const char *interface, Time at, const Tlp &tlp) {
        if (sink_) put({interface, at, 0, true, tlp});
    }
    // The last beat of the oldest TLP that began on this interface and has not ended was taken.
    void end(const char *interface, Time at) {
        if (sink_) close(interface, at);
    }
    void abandon();  // TLPs on show are withdrawn (a reset): written with span 0

private:
    struct Entry {
        const char *interface;
        Time at, span;
        bool open;
        Tlp tlp;
    };
    void put(Entry entry);
    void close(const char *interface, Time at);
    void flush();

    std::unique_ptr<Sink> sink_;
    std::deque<Entry> waiting_;  // in the order of their times, from the first open one on
};

}  // namespace lanebox
