// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The card's outstanding reads, by tag, and the room that their completions may need in the block's
// receive buffer: a header each, and a data credit for every 16 bytes begun.
//
// The host chooses how to split its answer. Each read therefore counts with the most completions
// that the read completion boundary allows, less those that have been shown to the user.
#pragma once

#include <array>

#include "pcie4/tlp.hpp"

namespace lanebox {

class CompletionSpace {
public:
    static constexpr unsigned kHeaders = 256, kData = 2048;  // PG213, receive buffer of 32 KiB

    // false: the tag is in use; `read` then replaces the older read with this tag.
    bool reserve(const Tlp &read, unsigned rcb);
    void release(const Tlp &completion);  // it was shown to the user

    // pooled: headers and data share the room of the data credits.
    bool fits(bool pooled) const {
        return pooled ? headers_ + data_ <= kData : headers_ <= kHeaders && data_ <= kData;
    }
    unsigned headers() const { return headers_; }
    unsigned data() const { return data_; }
    unsigned reads() const { return reads_; }
    void reset() { *this = {}; }

private:
    struct Read {
        bool outstanding = false;
        uint64_t address = 0;  // of the first byte not shown yet
        unsigned bytes = 0, rcb = 64;
        unsigned headers() const;
        unsigned data() const;
    };
    void count(const Read &read, int sign);

    std::array<Read, 256> by_tag_{};
    unsigned headers_ = 0, data_ = 0, reads_ = 0;
};

}  // namespace lanebox
