// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Writes a trace of every TLP at the hard block's pins. A file named *.pcapng gets the packets
// themselves, which Wireshark opens and `python -m sim.trace` converts. A file with any other name
// gets a line of text for each TLP.
//
// If no trace is written, a TLP costs one test of a pointer.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "link/tlp.hpp"

namespace lanebox {

// Returns how long a TLP takes at the 256-bit pins if nothing holds it up and it shares no beat
// with another TLP.
Time unhindered(const char *interface, const Tlp &tlp);

class TlpLog {
public:
    // A format of the trace. In write(), `span` is the time from the appearance of the TLP's first
    // beat until its last beat was taken; 0 if the trace has not seen that.
    class Sink {
    public:
        virtual ~Sink() = default;
        virtual void write(const char *interface, Time at, Time span, const Tlp &tlp) = 0;
    };

    // Opens the trace's file. With an empty path no trace is written. Throws std::runtime_error if
    // the file cannot be made.
    explicit TlpLog(const std::string &path);
    ~TlpLog() { abandon(); }

    // Adds a TLP on RQ or CC to the trace. Call it when the TLP's last beat was taken, at `at`.
    // `from` is the time of its first beat.
    void write(const char *interface, Time from, Time at, const Tlp &tlp) {
        if (sink_) put({interface, at, at - from, false, tlp});
    }
    // Begins a TLP on CQ or RC in the trace. Call it when the TLP's first beat is shown, at `at`.
    // Later TLPs wait in memory until this one has ended, so that the trace is in the order of
    // first beats.
    void begin(const char *interface, Time at, const Tlp &tlp) {
        if (sink_) put({interface, at, 0, true, tlp});
    }
    // Ends a TLP on CQ or RC in the trace. Call it when the last beat of the oldest open TLP on
    // this interface was taken, at `at`.
    void end(const char *interface, Time at) {
        if (sink_) close(interface, at);
    }
    // Call it when a reset has withdrawn the TLPs at the pins. They are written to the trace with a
    // time at the pins (span) of 0.
    void abandon();

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
    // TLPs not yet written to the trace, the oldest first. The first one is still at the pins.
    std::deque<Entry> waiting_;
};

}  // namespace lanebox
