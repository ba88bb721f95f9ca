// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The timing of the root complex, and its choices where the specification leaves it one.
#pragma once

#include "link/latency.hpp"

namespace lanebox {

// Where the completions of a read end: at multiples of `completion_size`, of RCB, of MPS, or at any
// legal point.
enum class Split { Size, Rcb, Mps, Random };

struct HostTiming {
    Latency read_latency{600 * kNanosecond};  // last RQ beat to first RC beat, for each completion
    Chance iommu_miss;   // chance that a page table walk delays a read, and the delay
    Chance write_stall;  // chance that after a write no posted write is accepted, and for how long
    Time mmio_rtt = 700 * kNanosecond;  // the host's share of an MMIO read
    unsigned completion_size = 0;       // size of completions in bytes; 0: as large as MPS allows
    Split split = Split::Size;
    bool reorder = true;  // completions of different reads, and relaxed writes, may overtake
};

}  // namespace lanebox
