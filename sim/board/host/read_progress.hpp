// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A read of the card's BAR as its requester sees it: which bytes are still to come, and whether a
// completion is the one that must come next (base specification 2.2.9, 2.3.1.1).
#pragma once

#include <string>

#include "link/tlp.hpp"

namespace lanebox {

class ReadProgress {
public:
    // A read of `bytes` bytes from the byte address `address` on, of which no byte has come.
    ReadProgress(uint64_t address, unsigned bytes) : next_(address), left_(bytes) {}

    // Returns a text that says what is wrong with a successful completion: its byte count, lower
    // address or length, a payload of more than `mps` bytes, or an end at a place where no
    // completion may end. The text is empty if the completion is right.
    std::string wrong(const Tlp &completion, unsigned mps) const;
    // Returns how many bytes a right completion brings. The first one is byte next() & 3 of the
    // payload.
    unsigned brings(const Tlp &completion) const;
    // Notes that the bytes of a right completion have come.
    void advance(const Tlp &completion);

    // Returns the address of the read's first byte that is still to come.
    uint64_t next() const { return next_; }
    // Returns how many bytes of the read are still to come. 0: the read is complete.
    unsigned left() const { return left_; }

private:
    uint64_t next_;
    unsigned left_;
};

}  // namespace lanebox
