// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The counters of all parts of the root complex.
#pragma once

#include <cstdint>

namespace lanebox {

struct HostCounters {
    // `msi` and `msi_lost` count interrupts of the card, MSI and MSI-X: those that the client got,
    // and those for which it had no eventfd. `mmio_reads` and `mmio_writes` count the TLPs that the
    // client's BAR accesses became, and `mmio_errors` the read TLPs that ended with all ones.
    uint64_t msi = 0, msi_lost = 0, mmio_reads = 0, mmio_writes = 0, mmio_errors = 0;
    // `completion_timeouts` counts MMIO reads that the card did not answer within 50 us. `unmapped`
    // counts requests of the card that reached outside the client's memory. `bytes_written` counts
    // the payload of the card's memory writes, `bytes_read` that of the reads that succeeded.
    uint64_t completion_timeouts = 0, unmapped = 0, bytes_written = 0, bytes_read = 0;
    // `overtaken` counts TLPs that relaxed writes have passed on their way to the host.
    // `write_stalls` counts the times when the host began to accept no posted write.
    uint64_t overtaken = 0, write_stalls = 0;
};

}  // namespace lanebox
