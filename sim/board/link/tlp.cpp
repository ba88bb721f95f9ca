// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "link/tlp.hpp"

#include <cstdio>

namespace lanebox {

std::string describe(const Tlp &tlp) {
    static const char *const names[] = {"MRd", "MWr", "Cpl", "other"};
    char text[160];
    if (tlp.type == TlpType::Completion) {
        snprintf(text, sizeof text, "%s low 0x%03llx %u dw bc %u tag %u status %u",
                 tlp.has_data() ? "CplD" : "Cpl", static_cast<unsigned long long>(tlp.address),
                 tlp.dwords, tlp.byte_count, tlp.tag, tlp.status);
    } else {
        snprintf(text, sizeof text, "%s%s 0x%llx %u dw be %x/%x tag %u",
                 tlp.interrupt ? "MSI " : "", names[static_cast<int>(tlp.type)],
                 static_cast<unsigned long long>(tlp.address), tlp.dwords, tlp.first_be,
                 tlp.last_be, tlp.tag);
    }
    return text;
}

ByteEnables byte_enables(uint64_t address, unsigned bytes) {
    unsigned offset = address & 3;
    unsigned dwords = (offset + bytes + 3) / 4;
    unsigned tail = (offset + bytes) & 3;
    uint8_t first = static_cast<uint8_t>((0xf << offset) & 0xf);
    uint8_t last = tail ? static_cast<uint8_t>((1 << tail) - 1) : 0xf;
    if (dwords == 1) return {1, static_cast<uint8_t>(first & last), 0};
    return {dwords, first, last};
}

unsigned first_enabled(uint8_t first) {
    for (unsigned i = 0; i < 4; i++)
        if (first >> i & 1) return i;
    return 0;
}

unsigned bytes_enabled(uint8_t first, uint8_t last, unsigned dwords) {
    // A read of one dword without enabled bytes (a zero-length read) counts as one byte.
    if (dwords == 1 && first == 0) return 1;
    uint8_t top_enables = dwords == 1 ? first : last;
    unsigned unused = 0;
    while (unused < 4 && !(top_enables >> (3 - unused) & 1)) unused++;
    return dwords * 4 - first_enabled(first) - unused;
}

}  // namespace lanebox
