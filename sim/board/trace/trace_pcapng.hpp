// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The TLP trace as pcapng: each TLP as it stands on the wire between sequence number and LCRC, with
// its payload, under the link type USER0. Interfaces: CQ, CC, RQ, RC, and MSI for the writes that
// the hard block makes from an interrupt request. Times in nanoseconds of device time.
// A TLP that was at the pins for longer than its beats take has a comment that says how long.
//
// The model gives out no bus numbers: where a TLP carries none the card is 01:00.0, the host
// 00:00.0. The request's information behind the descriptor of an error completion is left out.
#pragma once

#include "pcie4/tlp_log.hpp"
#include "pcie4/trace_file.hpp"

namespace lanebox {

// A TLP's header, each dword as the number that goes out with its most significant byte first.
struct WireHeader {
    std::array<uint32_t, 4> dwords{};
    unsigned count = 3;
};
WireHeader wire_header(const Tlp &tlp, bool from_card);

class PcapngTrace : public TlpLog::Sink {
public:
    explicit PcapngTrace(const std::string &path);
    void write(const char *interface, Time at, Time span, const Tlp &tlp) override;

private:
    void put(const void *data, size_t bytes);

    TraceFile file_;
};

}  // namespace lanebox
