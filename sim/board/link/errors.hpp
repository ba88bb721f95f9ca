// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Errors that the card's function finds, and where configuration space shows each of them.
//
// A completion that carries Unsupported Request or Completer Abort is the host's error, not the
// card's: only the STATUS register of the card that asked shows it (base specification 7.5.1.1.4).
#pragma once

#include <cstdint>

namespace lanebox {

struct Tlp;

enum class CardError : unsigned {
    PoisonedCompletion,    // a read was answered with poisoned data
    CompletionTimeout,     // a read was not answered
    UnexpectedCompletion,  // a completion that belongs to no outstanding read
    MalformedTlp,          // a received TLP that the block discards: the user never sees it
    UnsupportedRequest,    // the card refused a request of the host
    CompleterAbort,        // the card could not carry out a request of the host
    RefusedByHost,         // a read was answered with Unsupported Request
    AbortedByHost,         // a read was answered with Completer Abort
    PoisonedWrite,         // the card sent a write with poisoned data
    BadTlp,                // a TLP to the card had a wrong LCRC and was sent again
    kCount,
};

struct ErrorEffect {
    uint32_t uncorrectable;  // bit of AER's Uncorrectable Error Status, 0: none
    uint32_t correctable;    // bit of AER's Correctable Error Status, 0: none
    uint16_t status;         // bits of the STATUS register
    bool advisory;           // 6.2.3.2.4: reported as correctable unless it is made fatal
    bool unsupported;        // Device Status: Unsupported Request Detected
    bool logs_header;
};

const ErrorEffect &effect_of(CardError error);

// Base specification 7.8.4: registers of the capability, from its beginning.
constexpr unsigned kAer = 0x100;
constexpr unsigned kAerUncorrectable = 0x04, kAerUncorrectableMask = 0x08, kAerSeverity = 0x0c;
constexpr unsigned kAerCorrectable = 0x10, kAerCorrectableMask = 0x14, kAerControl = 0x18;
constexpr unsigned kAerHeaderLog = 0x1c;
constexpr uint32_t kAdvisoryNonFatal = 1u << 13;

}  // namespace lanebox
