// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Errors that the card's function finds, and where configuration space shows each of them.
//
// A completion that carries Unsupported Request or Completer Abort is an error of the host, not of
// the card: only the STATUS register of the card that sent the request shows it (base specification
// 7.5.1.1.4).
#pragma once

#include <cstdint>

namespace lanebox {

struct Tlp;

enum class CardError : unsigned {
    PoisonedCompletion,    // a read that the card sent was answered with poisoned data
    CompletionTimeout,     // a read that the card sent was not answered
    UnexpectedCompletion,  // the card got a completion that belongs to no outstanding read
    MalformedTlp,          // the card got a malformed TLP; the hard block drops it
    UnsupportedRequest,    // the card refused a request of the host
    CompleterAbort,        // the card could not carry out a request of the host
    RefusedByHost,         // a read that the card sent was answered with Unsupported Request
    AbortedByHost,         // a read that the card sent was answered with Completer Abort
    PoisonedWrite,         // the card sent a write with poisoned data
    BadTlp,                // a TLP to the card had a wrong LCRC and was sent again
    kCount,
};

// What an error changes in the registers of the card's configuration space.
struct ErrorEffect {
    // the bit that the error sets in AER's Uncorrectable Error Status; 0: none
    uint32_t uncorrectable;
    // the bit that the error sets in AER's Correctable Error Status; 0: none
    uint32_t correctable;
    uint16_t status;  // the bits that the error sets in the register STATUS
    // An advisory non-fatal error (6.2.3.2.4): correctable, unless AER's severity makes it fatal.
    bool advisory;
    bool unsupported;  // the error sets Unsupported Request Detected in Device Status
    bool logs_header;  // AER logs the header of the TLP that caused the error
};

// Returns what `error` changes. kCount is no error and must not be passed.
const ErrorEffect &effect_of(CardError error);

}  // namespace lanebox
