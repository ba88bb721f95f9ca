// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The rules of the hard block and of PCIe that a card must not break. A report of a broken rule
// names the rule and the TLP that broke it.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "link/tlp.hpp"

namespace lanebox {

enum class Rule : unsigned {
    TvalidGap,        // PG213: tvalid must not drop inside a TLP on RQ and CC
    KeepMismatch,     // PG213: tkeep has no holes, and covers descriptor and payload exactly
    RequestType,      // only memory reads and writes are expected from this gateware
    ByteEnables,      // base specification 2.2.5: a request's byte enables must be legal
    Crosses4k,        // base specification 2.2.7: no request crosses a 4 KiB boundary
    PayloadAboveMps,  // base specification 2.2.2: no TLP has more payload than MPS
    ReadAboveMrrs,    // base specification 7.5.3.4: no read above Max_Read_Request_Size
    TagInUse,         // base specification 2.2.6.2: outstanding reads have different tags
    TagRange,         // a read's tag is below 32 unless extended tags are enabled
    BusMasterOff,     // base specification 7.5.1.1.3: no request while bus master is disabled
    MsiDisabled,      // no interrupt may be sent while MSI or MSI-X is disabled
    UnexpectedCpl,    // every completion on CC must answer an outstanding read
    // Base specification 2.2.9: a completion's byte count, length and lower address fit its read.
    CplByteCount,
    CplErrorForm,     // PG213: UR and CA completions on CC repeat five dwords of the request
    RcCompletions,    // PG213: without straddle fewer than 64 read completions are in flight
    CompletionSpace,  // PG213: the answers to outstanding reads fit 256 headers, 2048 data credits
    RcBackPressure,   // The gateware must never hold off RC. A breach is only counted: see flag().
    OfferedBeat,      // AXI4-Stream: an offered beat does not change until it is taken
    ZeroLength,       // PG213: the shortest request has one dword without enabled bytes
    ReservedFields,   // PG213: reserved bits of a descriptor are 0, and its status exists
    UserConfig,       // PG213: cfg_mgmt_* writes only to 0xB0-0xBF and 0x480-0x4FF
    FlrTimeout,       // base specification 6.6.2: a function level reset is done within 100 ms
    PowerState,       // base specification 5.3.1.4.1: in D3hot a function sends no requests
    PowerAck,         // PG213: the gateware must acknowledge a new power state in time
    kCount,
};

// Returns the rule's name in reports and statistics, e.g. "crosses-4k".
const char *rule_name(Rule rule);

// Ends the board when a rule is broken in fatal mode. Its text is the report.
class RuleBroken : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Rules {
public:
    // Off: no rule is checked or counted. Warn: each broken rule is counted, and the first three
    // breaches of a rule are reported on stderr. Fatal: the first broken rule throws RuleBroken.
    enum class Mode { Off, Warn, Fatal };

    explicit Rules(Mode mode) : mode_(mode) {}

    // Counts a broken rule, unless the mode is Off. In fatal mode throws RuleBroken with a text of
    // the rule, the TLP and `detail`.
    void broken(Rule rule, const Tlp &tlp, const std::string &detail);
    // Counts a broken rule that silicon tolerates at the cost of speed. It is never fatal.
    void flag(Rule rule, const Tlp &tlp, const char *detail) {
        if (mode_ != Mode::Off) count(rule, tlp, detail);
    }
    // Calls broken() if `holds` is false.
    void check(bool holds, Rule rule, const Tlp &tlp, const char *detail) {
        if (!holds && mode_ != Mode::Off) broken(rule, tlp, detail);
    }

    uint64_t count(Rule rule) const { return counts_[static_cast<unsigned>(rule)]; }
    uint64_t total() const;  // Returns how often all rules together were broken.
    void clear() { counts_.fill(0); }
    Mode mode() const { return mode_; }

private:
    void count(Rule rule, const Tlp &tlp, const std::string &detail);

    Mode mode_;
    std::array<uint64_t, static_cast<unsigned>(Rule::kCount)> counts_{};
};

}  // namespace lanebox
