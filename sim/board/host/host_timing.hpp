// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// How the root complex behaves where the specification leaves it a choice.
#pragma once

#include "pcie4/latency.hpp"

namespace lanebox {

// Where completions end: at multiples of `completion_size`, of RCB, of MPS, or at any legal point.
enum class Split { Size, Rcb, Mps, Random };

struct HostTiming {
    Latency read_latency{600 * kNanosecond};  // last RQ beat to first RC beat, for each completion
    Chance iommu_miss;                        // of each read: a page table walk delays it
    Chance write_stall;                       // of each write: no posted write is accepted so long
    Time mmio_rtt = 700 * kNanosecond;        // the host's share of an MMIO read
    unsigned completion_size = 0;             // bytes; 0: as large as MPS allows
    Split split = Split::Size;
    bool reorder = true;  // completions of different reads, and relaxed writes, may overtake
};

}  // namespace lanebox
