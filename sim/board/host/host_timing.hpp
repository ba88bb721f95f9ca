// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The root complex's timing, and what it does where the PCIe specification leaves it a choice.
#pragma once

#include "link/latency.hpp"

namespace lanebox {

// Where the completions of a read end: at multiples of `completion_size`, of RCB, of MPS, or at any
// legal point.
enum class Split { Size, Rcb, Mps, Random };

struct HostTiming {
    // Time from the last RQ beat of a read to the first RC beat of a completion. Each completion
    // draws its own latency.
    Latency read_latency{600 * kNanosecond};
    // The chance that a page table walk of the IOMMU delays a read by the card, and the delay.
    Chance iommu_miss;
    // The chance that the host accepts no posted write for a while after a write, and for how long.
    Chance write_stall;
    Time mmio_rtt = 700 * kNanosecond;  // The host's share of the round trip of an MMIO read.
    // Size of a read completion in bytes. 0: as large as MPS allows.
    unsigned completion_size = 0;
    Split split = Split::Size;
    // Completions of different reads may overtake each other, and relaxed writes may overtake.
    bool reorder = true;
};

}  // namespace lanebox
