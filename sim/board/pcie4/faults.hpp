// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Faults planted on request, so that a test can prove that it would notice them.
//
// A fault is armed with a count n and strikes once, at the n-th opportunity from then on, or with a
// chance that it strikes at each. Events are faults of the whole card: they wait for no
// opportunity.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "pcie4/latency.hpp"
#include "pcie4/tlp.hpp"

namespace lanebox {

struct Event {
    enum Kind : unsigned { HotReset, LinkDown, Remove, Insert, DeviceControl, Command, kKinds };
    Kind kind;
    uint64_t argument;
};

class Faults {
public:
    void seed(uint64_t seed) { random_.seed(seed); }

    // "NAME" or "NAME:N" with N >= 1, or an event with its argument; throws std::invalid_argument
    // that lists the names.
    void arm(const std::string &spec);
    // Strike at each opportunity with a chance of `rate`, 0 to 1; not for events.
    void arm_random(const std::string &name, double rate);

    // flip-c2h: one payload bit of a memory write; c2h-be: the enables of its first dword
    void on_c2h_write(Tlp &write);
    // flip-h2c: one payload bit of a read completion; poison: its EP bit; byte-count: 64 too many;
    // attributes, lower-address: not those of its read
    void on_completion(Tlp &completion);
    // wrong-be: the enable of a byte of a BAR write is turned over; hole-be: one is taken away
    void on_mmio_write(Tlp &write);
    bool lose_msi();         // lose-msi: an interrupt message disappears
    bool unsupported();      // ur: a read from the card ends in Unsupported Request
    bool abort();            // ca: a read from the card ends in Completer Abort
    bool drop_completion();  // drop-completion: a read from the card is never answered
    bool unexpected();       // unexpected: a completion before this one that nobody asked for
    bool replay_up();        // replay-up, replay-down: a TLP crosses the link with a wrong LCRC
    bool replay_down();
    bool duplicate();             // duplicate: the last completion of a read comes twice
    bool malformed();             // malformed: a request to the card breaks the specification
    bool malformed_completion();  // malformed-completion: so does the first answer to a read

    bool event_waiting() const { return !events_.empty(); }
    Event take_event();

    uint64_t struck() const { return struck_; }
    // The same by name, without events; those that never struck are left out.
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
