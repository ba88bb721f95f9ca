// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Turns TLPs into beats and beats into TLPs. The beats of one TLP follow those of the TLP before
// without an idle cycle.
#pragma once

#include <cstddef>
#include <vector>

#include "block/pins.hpp"

namespace lanebox {

// Shows the dwords of one TLP beat by beat, 8 dwords (32 bytes) in a beat. The shown beat changes
// only after it was taken.
class BeatSource {
public:
    // Returns true while a beat is shown: the last beat of the loaded TLP has not been taken.
    bool active() const { return position_ < dwords_.size(); }
    // Begins a TLP. `dwords` holds a descriptor of `descriptor_dwords` dwords, and the payload
    // behind. `first_be` and `last_be` are the byte enables of the payload's first and last dword.
    // `last_be` is not used for a payload of one dword.
    void load(std::vector<uint32_t> dwords, unsigned descriptor_dwords, uint8_t first_be = 0xf,
              uint8_t last_be = 0xf);
    // Call it when the receiver has taken the shown beat. The next beat of the TLP is then shown.
    void taken() { position_ += kBeatDwords; }
    bool first() const { return position_ == 0; }  // The shown beat is the TLP's first one.
    // Returns the shown beat. Its `valid` is false if no TLP is left to show.
    Beat beat() const;
    // Returns the pins byte_en for the shown beat: bit n is 1 if byte n is an enabled byte of the
    // payload. Bytes of the descriptor have 0.
    uint32_t byte_enables() const;

private:
    uint32_t disabled(size_t dword, uint8_t enables) const;

    std::vector<uint32_t> dwords_;
    size_t position_ = 0;
    unsigned descriptor_dwords_ = 0;
    uint8_t first_be_ = 0xf, last_be_ = 0xf;
};

// Notices if an offered beat changes or disappears before it was taken, which AXI4-Stream forbids.
class OfferWatch {
public:
    // Call it at each clock edge with the beat that the user offers. `taken` says whether the beat
    // is taken at this edge. Returns false if a beat that was offered and not taken at the edge
    // before has changed or disappeared.
    bool kept(const Beat &beat, bool taken) {
        bool kept = !refused_.valid || same(beat);
        if (!beat.valid || taken)
            refused_.valid = false;
        else
            refused_ = beat;
        return kept;
    }
    void reset() { refused_.valid = false; }

private:
    bool same(const Beat &beat) const;

    Beat refused_;
};

// Joins the beats that the hard block takes on RQ or CC into TLPs.
class BeatSink {
public:
    // Adds a beat that was taken. Returns true if it completed a TLP. take() must then be called
    // before the next beat: it removes and returns the TLP's dwords, descriptor and payload.
    bool accept(const Beat &beat);
    std::vector<uint32_t> take();
    // Returns true if the first beat of a TLP has come, but not its last one.
    bool mid_packet() const { return !dwords_.empty(); }
    // Returns true if tkeep of the completed TLP was illegal: it had a hole, or was not all ones in
    // a beat before the last.
    bool keep_broken() const { return keep_broken_; }
    void reset() { *this = {}; }

private:
    std::vector<uint32_t> dwords_;
    bool keep_broken_ = false;
};

}  // namespace lanebox
