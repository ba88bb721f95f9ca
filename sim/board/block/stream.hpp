// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// TLPs to beats and back, one TLP after another without a bubble.
#pragma once

#include <cstddef>
#include <vector>

#include "pcie4/pins.hpp"

namespace lanebox {

// Shows one packet of dwords beat by beat; the beat on show changes only when it has been taken.
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
    uint32_t byte_enables() const;  // payload bytes of the beat on show

private:
    uint32_t disabled(size_t dword, uint8_t enables) const;

    std::vector<uint32_t> dwords_;
    size_t position_ = 0;
    unsigned descriptor_dwords_ = 0;
    uint8_t first_be_ = 0xf, last_be_ = 0xf;
};

// Notices when what is offered changes or disappears before it has been taken.
class OfferWatch {
public:
    // One clock edge; false when the beat refused at the edge before is not offered any more.
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

// Collects accepted beats into packets.
class BeatSink {
public:
    // Returns true when `beat` completed a packet, which `take` then yields.
    bool accept(const Beat &beat);
    std::vector<uint32_t> take();
    bool mid_packet() const { return !dwords_.empty(); }
    bool keep_broken() const { return keep_broken_; }  // of the packet just completed
    unsigned beats() const { return beats_; }
    void reset() { *this = {}; }

private:
    std::vector<uint32_t> dwords_;
    bool keep_broken_ = false;
    unsigned beats_ = 0;
};

}  // namespace lanebox
