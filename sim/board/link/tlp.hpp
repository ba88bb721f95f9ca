// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// One transaction layer packet (TLP), independent of how a pin or a wire encodes it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "link/units.hpp"

namespace lanebox {

enum class TlpType : uint8_t { MemRead, MemWrite, Completion, Other };

// Completion status, PCIe base specification 2.2.9.
enum class CplStatus : uint8_t { Success = 0, UnsupportedRequest = 1, CompleterAbort = 4 };

// Error codes of PG213's "Requester Completion Descriptor" that no field of the completion implies.
// The hard block gives them on RC.
constexpr uint8_t kRcByteCount = 3, kRcAttributes = 4, kRcLowerAddress = 5, kRcInvalidTag = 6,
                  kRcTimeout = 9;

// IDs of those that send TLPs, as requester or completer: bus, device and function. The root
// complex completes the card's reads, and the processor is another requester in it. The card is
// alone on its bus. The peer is another card, which accesses the BARs of the first one.
constexpr uint16_t kRootId = 0x0000, kProcessorId = 0x00a0, kCardId = 0x0100, kPeerId = 0x0200;

struct Tlp {
    TlpType type = TlpType::Other;
    // Requests: byte address of the first dword. Completions: the low 12 bits of the first byte's
    // address.
    uint64_t address = 0;
    unsigned dwords = 0;     // Length of the payload in dwords. Of a read: the length asked for.
    uint8_t first_be = 0xf;  // requests only: byte enables of the first dword
    uint8_t last_be = 0;     // requests only: byte enables of the last dword; 0 if dwords == 1
    uint8_t tag = 0;
    uint16_t requester = 0;
    // The attributes: bit 0 no snoop, bit 1 relaxed ordering, bit 2 ID-based ordering.
    uint8_t attributes = 0;
    uint8_t status = 0;    // completions only: a CplStatus, if the status is legal
    uint8_t rc_error = 0;  // completions only: the error code in the descriptor on RC
    // Completions only: bytes of the read that are left, those of this TLP included.
    unsigned byte_count = 0;
    bool request_done = false;  // completions only: this is the last completion of its request
    bool poisoned = false;
    // the TLP is a memory write that the hard block made from an MSI request
    bool interrupt = false;
    uint8_t raw_type = 0;   // request type field of the RQ descriptor
    bool reserved = false;  // TLPs of the card: the descriptor has a bit set that must be 0
    // TLPs to the card: the TLP breaks the specification, so the hard block drops it.
    bool malformed = false;
    bool replayed = false;  // TLPs to the card: the first transmission had a wrong LCRC
    Time shown_at = 0;      // TLPs of the card: when the first beat was shown at the pins
    // TLPs of the card: when the last beat was taken at the pins. TLPs to the card: when the hard
    // block began to show the TLP there. MSI: when the card asked for the message.
    Time pins_at = 0;
    std::vector<uint32_t> payload;

    bool has_data() const { return !payload.empty(); }
    unsigned payload_bytes() const { return static_cast<unsigned>(payload.size()) * 4; }
    bool posted() const { return type == TlpType::MemWrite; }
    bool relaxed() const { return attributes & 2; }
};

// Returns the text of a TLP in logs and rule reports, e.g. "MWr 0x1000 64 dw be f/f tag 3".
std::string describe(const Tlp &tlp);

// The length in dwords of an access to `bytes` bytes at `address`, and the byte enables of its
// first and last dword. `last` is 0 for an access of one dword.
struct ByteEnables {
    unsigned dwords;
    uint8_t first, last;
};
ByteEnables byte_enables(uint64_t address, unsigned bytes);

// Returns how many bytes a request covers from the first to the last enabled byte: the byte count
// of its completion (base specification 2.3.1.1).
unsigned bytes_enabled(uint8_t first, uint8_t last, unsigned dwords);

// Returns the offset in bytes of the first enabled byte in the first dword. It is 0 for a
// zero-length read.
unsigned first_enabled(uint8_t first);

}  // namespace lanebox
