// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Faults that a test plants in the simulated machine, to prove that it would notice them.
//
// A fault is armed with a count n and strikes once, at the n-th opportunity from then on. Or a
// fault is armed with a chance, and may strike at each opportunity. Events are faults of the whole
// card, such as a hot reset: they strike at once.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "link/latency.hpp"
#include "link/tlp.hpp"

namespace lanebox {

struct Event {
    enum Kind : unsigned { HotReset, LinkDown, Remove, Insert, DeviceControl, Command, kKinds };
    Kind kind;
    uint64_t argument;
};

class Faults {
public:
    void seed(uint64_t seed) { random_.seed(seed); }

    // Arms a fault: "NAME" or "NAME:N" with N >= 1, or an event with its argument. An unknown name
    // throws std::invalid_argument, whose text lists the names.
    void arm(const std::string &spec);
    // Lets a fault strike at each opportunity with a chance of `rate`, from 0 to 1. An event cannot
    // be armed in this way and throws std::invalid_argument.
    void arm_random(const std::string &name, double rate);

    // The fault flip-c2h inverts one payload bit of a memory write of the card. c2h-be enables only
    // the top byte of the write's first dword.
    void on_c2h_write(Tlp &write);
    // The fault flip-h2c inverts one payload bit of a completion for the card. poison sets the
    // completion's EP bit. byte-count makes its byte count 64 too high. attributes and
    // lower-address make that field differ from what the read asked for.
    void on_completion(Tlp &completion);
    // The fault wrong-be inverts the enable of byte 3 of a BAR write's first dword. hole-be
    // disables byte 1 of the write's first dword.
    void on_mmio_write(Tlp &write);
    bool lose_msi();         // fault lose-msi: an interrupt message of the card disappears
    bool unsupported();      // fault ur: a read that the card sent ends in Unsupported Request
    bool abort();            // fault ca: a read that the card sent ends in Completer Abort
    bool drop_completion();  // fault drop-completion: a read that the card sent is never answered
    // fault unexpected: the card gets a completion that answers no read of it
    bool unexpected();
    // fault replay-up: a TLP from the card has a wrong LCRC and is sent again
    bool replay_up();
    // fault replay-down: a TLP to the card has a wrong LCRC and is sent again
    bool replay_down();
    // fault duplicate: the last completion of a read by the card comes twice
    bool duplicate();
    bool malformed();  // fault malformed: a request to the card breaks the specification
    // Fault malformed-completion: the first completion of a read by the card is malformed.
    bool malformed_completion();

    bool event_waiting() const { return !events_.empty(); }
    Event take_event();

    uint64_t struck() const { return struck_; }
    // How often each fault struck, by name. Events and faults that never struck are left out.
    std::vector<std::pair<const char *, uint64_t>> struck_by_name() const;

private:
    enum Kind : unsigned {
        FlipC2h,
        C2hBe,
        FlipH2c,
        WrongBe,
        LoseMsi,
        Ur,
        DropCompletion,
        Ca,
        Poison,
        Unexpected,
        Duplicate,
        ByteCount,
        ReplayUp,
        ReplayDown,
        Malformed,
        Attributes,
        LowerAddress,
        MalformedCompletion,
        HoleBe,
        kKinds
    };
    static const char *name(unsigned kind);
    static const char *event_name(unsigned kind);
    static Kind kind_of(const std::string &name);
    bool strikes(Kind kind);

    std::array<uint64_t, kKinds> countdown_{};
    std::array<double, kKinds> rate_{};
    std::deque<Event> events_;
    Random random_;
    uint64_t struck_ = 0;
    std::array<uint64_t, kKinds> struck_of_{};
};

}  // namespace lanebox
