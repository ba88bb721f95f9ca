// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// One transaction layer packet, independent of how a pin or a wire encodes it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "pcie4/units.hpp"

namespace lanebox {

enum class TlpType : uint8_t { MemRead, MemWrite, Completion, Other };

// Completion status, PCIe base specification 2.2.9.
enum class CplStatus : uint8_t { Success = 0, UnsupportedRequest = 1, CompleterAbort = 4 };

// Error codes of PG213's "Requester Completion Descriptor" that no field of the completion implies.
constexpr uint8_t kRcByteCount = 3, kRcAttributes = 4, kRcLowerAddress = 5, kRcInvalidTag = 6,
                  kRcTimeout = 9;

constexpr uint16_t kCardId = 0x0100;  // bus 1, device 0: the model has one card on one bus

struct Tlp {
    TlpType type = TlpType::Other;
    uint64_t address = 0;  // byte address of the first dword (requests); low 12 bits (completions)
    unsigned dwords = 0;   // payload of a write or completion, size asked for of a read
    uint8_t first_be = 0xf;  // requests only
    uint8_t last_be = 0;     // 0 when dwords == 1
    uint8_t tag = 0;
    uint16_t requester = 0;
    uint8_t attributes = 0;     // bit 0 no snoop, bit 1 relaxed ordering, bit 2 ID-based ordering
    uint8_t status = 0;         // completions only, a CplStatus when legal
    uint8_t rc_error = 0;       // completions only: what the hard block reports beside the status
    unsigned byte_count = 0;    // completions only: bytes left including this one
    bool request_done = false;  // completions only: the last one of its request
    bool poisoned = false;
    bool interrupt = false;  // a memory write that the hard block made from an MSI request
    uint8_t raw_type = 0;    // the descriptor's request type field
    bool reserved = false;   // of the user's: the descriptor has a bit set that must be 0
    bool malformed = false;  // to the card: breaks a rule of the specification, the block drops it
    bool replayed = false;   // to the card: came with a wrong LCRC first
    Time shown_at = 0;       // of the user's: when its first beat was shown at the pins
    Time pins_at = 0;        // when its last beat was taken at the pins
    std::vector<uint32_t> payload;

    bool has_data() const { return !payload.empty(); }
    unsigned payload_bytes() const { return static_cast<unsigned>(payload.size()) * 4; }
    bool posted() const { return type == TlpType::MemWrite; }
    bool relaxed() const { return attributes & 2; }
};

// What a human reads in logs and rule reports, e.g. "MWr 0x1000 64 dw tag 3".
std::string describe(const Tlp &tlp);

// Number of leading dwords' byte enables of an access of `bytes` bytes at `address` (1 to 8 bytes).
struct ByteEnables {
    unsigned dwords;
    uint8_t first, last;
};
ByteEnables byte_enables(uint64_t address, unsigned bytes);

// Bytes that a read with these enables asks for, first to last enabled (base
// specification 2.3.1.1).
unsigned bytes_enabled(uint8_t first, uint8_t last, unsigned dwords);

// Offset of the first enabled byte inside the first dword; 0 for a zero-length read.
unsigned first_enabled(uint8_t first);

}  // namespace lanebox
