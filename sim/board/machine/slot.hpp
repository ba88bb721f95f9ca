// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Counts beats, packets and stalls of the user slot's two streams, from the SoC's pins `user_slot`
// in each cycle. The gateware's own slot monitor counts the same. The counters of this file can be
// read at any cycle without an MMIO read, which would itself take time on the link.
#pragma once

#include <cstdint>

#include "machine/json.hpp"

namespace lanebox {

class SlotSide {
public:
    // Bits 0 to 2 of `pins` are the stream's valid, ready and last.
    void sample(unsigned pins, uint64_t cycle) {
        unsigned state = pins & 3;
        if (state != state_) since_ = cycle;
        state_ = state;
        beats_ += state == 3;
        packets_ += state == 3 && (pins & 4);
        stalls_ += state == 1;
    }
    void clear() { beats_ = packets_ = stalls_ = 0; }
    // Returns the counters as JSON. `cycle` is the next cycle that will be sampled. `held_cycles`
    // says for how many cycles valid and ready have not changed.
    Json json(uint64_t cycle) const {
        return Json()
            .number("valid", uint64_t{state_ & 1})
            .number("ready", uint64_t{state_ >> 1})
            .number("held_cycles", cycle - since_)
            .number("beats", beats_)
            .number("packets", packets_)
            .number("stalls", stalls_);
    }

private:
    unsigned state_ = 0;
    uint64_t since_ = 0, beats_ = 0, packets_ = 0, stalls_ = 0;
};

struct Slot {
    SlotSide sink, source;

    void sample(unsigned pins, uint64_t cycle) {
        sink.sample(pins, cycle);
        source.sample(pins >> 3, cycle);
    }
    void clear() {
        sink.clear();
        source.clear();
    }
    Json json(uint64_t cycle) const {
        return Json().object("sink", sink.json(cycle)).object("source", source.json(cycle));
    }
};

}  // namespace lanebox
