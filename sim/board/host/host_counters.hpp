// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The counters of all parts of the root complex.
#pragma once

#include <cstdint>

namespace lanebox {

struct HostCounters {
    uint64_t msi = 0, msi_lost = 0, mmio_reads = 0, mmio_writes = 0, mmio_errors = 0;
    uint64_t completion_timeouts = 0, unmapped = 0, bytes_written = 0, bytes_read = 0;
    // `overtaken` counts TLPs that relaxed writes have passed on their way to the host.
    uint64_t overtaken = 0, write_stalls = 0;
};

}  // namespace lanebox
