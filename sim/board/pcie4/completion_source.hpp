// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Read completions to RC beats, with PG213's straddle option or without.
//
// With it ("Straddle Option for 256-Bit Interface") completions are one continuous stream: at most
// two of them share a beat, and the second begins in dword lane 4, where the one before it ended in
// lane 3 or below. tkeep is then all ones and tlast is never set; sof and eof delimit. Without it
// each completion begins in lane 0, tkeep and tlast delimit, and eof is not driven.
#pragma once

#include <cstddef>
#include <vector>

#include "pcie4/pins.hpp"

namespace lanebox {

struct RcBeat {
    Beat beat;
    uint32_t byte_en = 0;  // payload bytes
    uint8_t sof = 0;       // bit 0: one begins in this beat, bit 1: so does another
    uint8_t eof0 = 0;      // bit 0: one ends in this beat, bits 3..1: in this dword lane
    uint8_t eof1 = 0;      // the same for a second one
};

class CompletionSource {
public:
    explicit CompletionSource(bool straddle) : straddle_(straddle) {}

    bool showing() const { return showing_; }
    // The beat on show: what is left of its last completion begins the next beat. Returns how many
    // completions ended in it.
    unsigned taken();
    // Another completion may begin in the beat that is not on show yet.
    bool room() const;
    void load(std::vector<uint32_t> packet, unsigned descriptor_dwords);
    // From now on the beat does not change until it is taken.
    const RcBeat &show();

private:
    void place();

    bool straddle_;
    RcBeat next_;
    bool showing_ = false;
    unsigned used_ = 0;   // lanes of the beat
    unsigned ended_ = 0;  // completions whose last lane it has
    std::vector<uint32_t> packet_;
    size_t position_ = 0;
    unsigned descriptor_dwords_ = 0;
};

}  // namespace lanebox
