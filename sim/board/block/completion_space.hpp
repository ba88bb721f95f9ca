// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The card's outstanding reads, by tag, and the room that their completions may need in the hard
// block's receive buffer: a header for each completion, and a data credit for every 16 bytes begun.
//
// The host chooses how to split its answer. So each read counts with the most completions that the
// read completion boundary allows, less those that were shown to the gateware already.
#pragma once

#include <array>

#include "link/numbers.hpp"
#include "link/tlp.hpp"

namespace lanebox {

// The host needs no credits to send completions, so reads whose completions do not fit would
// overflow the hard block's buffer. The rule CompletionSpace reports such reads.
class CompletionSpace {
public:
    // The room of the receive buffer: headers of completions, and data credits of 16 bytes.
    static constexpr unsigned kHeaders = numbers::kCompletionHeaders;
    static constexpr unsigned kData = numbers::kCompletionUnits;

    // Adds a read of the card. `rcb` is the read completion boundary in bytes, 64 or 128. Returns
    // false if the read's tag is in use; `read` then replaces the older read with this tag.
    bool reserve(const Tlp &read, unsigned rcb);
    // Frees the room of a completion. Call it when the completion is shown to the gateware.
    void release(const Tlp &completion);

    // Returns true if the room suffices for all outstanding reads. `pooled`: headers and data share
    // the room of the data credits.
    bool fits(bool pooled) const {
        return pooled ? headers_ + data_ <= kData : headers_ <= kHeaders && data_ <= kData;
    }
    // Return what the outstanding reads may need at most: completion headers, and data credits of
    // 16 bytes.
    unsigned headers() const { return headers_; }
    unsigned data() const { return data_; }
    // Returns how many reads of the card are outstanding.
    unsigned reads() const { return reads_; }
    void reset() { *this = {}; }

private:
    struct Read {
        bool outstanding = false;
        // Address of the read's first byte that no completion has shown to the gateware yet.
        uint64_t address = 0;
        unsigned bytes = 0, rcb = 64;
        unsigned headers() const;
        unsigned data() const;
    };
    void count(const Read &read, int sign);

    std::array<Read, numbers::kReadTags> by_tag_{};
    unsigned headers_ = 0, data_ = 0, reads_ = 0;
};

}  // namespace lanebox
