// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Turns read completions into beats on RC, with PG213's straddle option or without.
//
// With straddle ("Straddle Option for 256-Bit Interface") completions are one continuous stream. At
// most two of them share a beat; the second begins in dword lane 4 if the first ended in lane 3 or
// below. tkeep is all ones and tlast is never set: sof and eof delimit the completions. Without
// straddle each completion begins in lane 0, tkeep and tlast delimit it, and eof is not driven.
#pragma once

#include <cstddef>
#include <vector>

#include "block/pins.hpp"

namespace lanebox {

// The pins of RC for one beat (PG213, m_axis_rc_tuser).
struct RcBeat {
    Beat beat;
    // The byte_en of RC: bit n is 1 if byte n of the beat is payload and not descriptor.
    uint32_t byte_en = 0;
    uint8_t sof = 0;   // bit 0: a completion begins in this beat, bit 1: a second one begins
    uint8_t eof0 = 0;  // bit 0: a completion ends in this beat, bits 3..1: its last dword lane
    // bit 0: a second completion ends in this beat, bits 3..1: its last dword lane
    uint8_t eof1 = 0;
};

class CompletionSource {
public:
    explicit CompletionSource(bool straddle) : straddle_(straddle) {}

    // Returns true if a beat is at the pins and has not been taken.
    bool showing() const { return showing_; }
    // Call it when the shown beat was taken. If the beat's last completion has more data, that data
    // begins the next beat. Returns how many completions ended in the beat that was taken.
    unsigned taken();
    // Returns true if the next beat on RC has room for another completion. load() may then be
    // called.
    bool room() const;
    // Puts a completion behind those that begin in the next beat. `packet` holds a descriptor of
    // `descriptor_dwords` dwords and the payload behind it. Call it only while room() is true.
    void load(std::vector<uint32_t> packet, unsigned descriptor_dwords);
    // Shows the next beat at RC's pins, and returns it. The beat does not change until it is taken.
    // Its `valid` is false if no completion is loaded.
    const RcBeat &show();

private:
    void place();

    bool straddle_;
    RcBeat next_;
    bool showing_ = false;
    unsigned used_ = 0;   // the dword lanes of the next RC beat that are filled
    unsigned ended_ = 0;  // the completions that end in the next RC beat
    std::vector<uint32_t> packet_;
    size_t position_ = 0;
    unsigned descriptor_dwords_ = 0;
};

}  // namespace lanebox
