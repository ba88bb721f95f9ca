// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "machine/msix_vectors.hpp"

#include <utility>

namespace lanebox {

std::optional<unsigned> MsixVectors::find(uint64_t address, uint32_t data) const {
    uint64_t vector = (address - kMessages) / kEntryBytes;
    bool known = vector < vectors_.size() && address % kEntryBytes == 0 && data == vector &&
                 vectors_[vector].programmed;
    if (!known) return {};
    return static_cast<unsigned>(vector);
}

bool MsixVectors::raise(unsigned vector) {
    vectors_[vector].pending = !signal_(vector);
    return !vectors_[vector].pending;
}

void MsixVectors::use(unsigned vector, bool used, HostCpu *cpu) {
    Vector &entry = vectors_[vector];
    bool was_used = std::exchange(entry.used, used);
    if (cpu && (used || was_used)) program(vector, *cpu);
    if (used && entry.pending) raise(vector);
}

void MsixVectors::program_used(HostCpu &cpu) {
    for (unsigned i = 0; i < vectors_.size(); i++)
        if (vectors_[i].used) program(i, cpu);
}

void MsixVectors::program(unsigned vector, HostCpu &cpu) {
    vectors_[vector].programmed = true;
    uint64_t address = kMessages + uint64_t{vector} * kEntryBytes;
    const uint32_t entry[] = {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32),
                              vector, vectors_[vector].used ? 0u : 1u};
    uint64_t offset = msix_.table + uint64_t{vector} * kEntryBytes;
    for (unsigned i = 0; i < 4; i++)
        cpu.write(msix_.bar, offset + 4 * i, &entry[i], sizeof entry[i]);
}

}  // namespace lanebox
