// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Writes the TLP trace as pcapng. A packet is a TLP as it is on the link between sequence number
// and LCRC, with its payload; the link type is USER0. The interfaces are CQ, CC, RQ, RC, and MSI
// for the writes that the hard block makes from an interrupt request. Times are nanoseconds of
// device time. A TLP that was at the pins for longer than its beats take has a comment that says
// how long.
//
// The model assigns no bus numbers. In a TLP that carries no ID the card is 01:00.0, and the host
// is 00:00.0. An error completion on CC repeats information of its request; the trace leaves that
// information out.
#pragma once

#include "trace/tlp_log.hpp"
#include "trace/trace_file.hpp"

namespace lanebox {

class PcapngTrace : public TlpLog::Sink {
public:
    explicit PcapngTrace(const std::string &path);
    void write(const char *interface, Time at, Time span, const Tlp &tlp) override;

private:
    void put(const void *data, size_t bytes);

    TraceFile file_;
};

}  // namespace lanebox
