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

// Shows a TLP's dwords beat by beat. The shown beat changes only after it was taken.
class BeatSource {
public:
    bool active() const { return position_ < dwords_.size(); }
    // `first_be` and `last_be` are the byte enables of the payload's first and last dword.
    // `last_be` is not used for a payload of one dword.
    void load(std::vector<uint32_t> dwords, unsigned descriptor_dwords, uint8_t first_be = 0xf,
              uint8_t last_be = 0xf);
    void taken() { position_ += kBeatDwords; }
    bool first() const { return position_ == 0; }
    Beat beat() const;
    // Returns byte enables of the shown beat: bit n is 1 if byte n is payload.
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
    // Call it at each clock edge. Returns false if the beat that was not taken at the edge before
    // is no longer offered unchanged.
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
    // Returns true if `beat` completed a TLP. take() then gives the TLP's dwords.
    bool accept(const Beat &beat);
    std::vector<uint32_t> take();
    bool mid_packet() const { return !dwords_.empty(); }
    // Returns true if tkeep of the completed TLP was illegal.
    bool keep_broken() const { return keep_broken_; }
    void reset() { *this = {}; }

private:
    std::vector<uint32_t> dwords_;
    bool keep_broken_ = false;
};

}  // namespace lanebox
