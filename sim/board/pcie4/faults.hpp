// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Faults planted on request, so that a test can prove that it would notice them.
//
// A fault is armed with a count n and strikes once, at the n-th opportunity from then on.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "pcie4/tlp.hpp"

namespace lanebox {

class Faults {
public:
    // "NAME" or "NAME:N" with N >= 1; throws std::invalid_argument that lists the names.
    void arm(const std::string &spec);

    // flip-c2h: one payload bit of a memory write; c2h-be: the enables of its first dword
    void on_c2h_write(Tlp &write);
    void on_completion(Tlp &completion);  // flip-h2c: one payload bit of a read completion
    void on_mmio_write(Tlp &write);       // wrong-be: the byte enables of a BAR write
    bool lose_msi();                      // lose-msi: an interrupt message disappears
    bool unsupported();                   // ur: a read from the card ends in Unsupported Request
    bool drop_completion();               // drop-completion: a read from the card is never answered

    uint64_t struck() const { return struck_; }

private:
    enum Kind : unsigned { FlipC2h, C2hBe, FlipH2c, WrongBe, LoseMsi, Ur, DropCompletion, kKinds };
    static const char *name(unsigned kind);
    bool strikes(Kind kind);

    std::array<uint64_t, kKinds> countdown_{};
    uint64_t struck_ = 0;
};

}  // namespace lanebox
