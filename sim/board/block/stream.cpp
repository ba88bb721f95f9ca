// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "block/stream.hpp"

#include <algorithm>
#include <utility>

namespace lanebox {

namespace {

// Room that is reserved for a TLP: the dwords of a write of 256 bytes with its descriptor.
constexpr size_t kUsualDwords = 9 * kBeatDwords;

}  // namespace

void BeatSource::load(std::vector<uint32_t> dwords, unsigned descriptor_dwords, uint8_t first_be,
                      uint8_t last_be) {
    dwords_ = std::move(dwords);
    position_ = 0;
    descriptor_dwords_ = descriptor_dwords;
    first_be_ = first_be;
    last_be_ = last_be;
}

Beat BeatSource::beat() const {
    Beat beat;
    if (!active()) return beat;
    size_t count = std::min<size_t>(kBeatDwords, dwords_.size() - position_);
    beat.valid = true;
    beat.last = position_ + kBeatDwords >= dwords_.size();
    beat.keep = static_cast<uint8_t>((1u << count) - 1);
    std::copy_n(dwords_.begin() + static_cast<std::ptrdiff_t>(position_), count, beat.data.begin());
    return beat;
}

uint32_t BeatSource::byte_enables() const {
    if (!active()) return 0;
    size_t count = std::min<size_t>(kBeatDwords, dwords_.size() - position_);
    uint32_t enables = count == kBeatDwords ? ~0u : (1u << 4 * count) - 1;
    if (first()) enables &= ~((1u << 4 * descriptor_dwords_) - 1);
    size_t last = dwords_.size() - 1;
    enables &= ~disabled(descriptor_dwords_, first_be_);
    return last > descriptor_dwords_ ? enables & ~disabled(last, last_be_) : enables;
}

// Returns a bit for each disabled byte of a dword, at the byte's place in the shown beat. Returns 0
// if the beat does not hold the dword.
uint32_t BeatSource::disabled(size_t dword, uint8_t enables) const {
    bool shown = dword >= position_ && dword < position_ + kBeatDwords;
    return shown ? (~uint32_t{enables} & 0xf) << 4 * (dword - position_) : 0;
}

// Compares the beat with the refused one, only in the dwords that tkeep covers: dwords that tkeep
// leaves out mean nothing.
bool OfferWatch::same(const Beat &beat) const {
    if (!beat.valid || beat.last != refused_.last || beat.keep != refused_.keep) return false;
    for (unsigned i = 0; i < kBeatDwords; i++)
        if ((beat.keep >> i & 1) && beat.data[i] != refused_.data[i]) return false;
    return true;
}

bool BeatSink::accept(const Beat &beat) {
    if (dwords_.empty()) {
        keep_broken_ = false;
        dwords_.reserve(kUsualDwords);
    }
    // A legal tkeep is a run of ones from bit 0 on, and all ones in every beat but a TLP's last
    // one.
    keep_broken_ |= (beat.keep & (beat.keep + 1)) != 0 || (!beat.last && beat.keep != 0xff);
    if (beat.keep == 0xff) {
        dwords_.insert(dwords_.end(), beat.data.begin(), beat.data.end());
        return beat.last;
    }
    for (unsigned i = 0; i < kBeatDwords; i++)
        if (beat.keep >> i & 1) dwords_.push_back(beat.data[i]);
    return beat.last;
}

std::vector<uint32_t> BeatSink::take() {
    return std::exchange(dwords_, {});
}

}  // namespace lanebox
