// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "link/wire_header.hpp"

namespace lanebox {

namespace {

// Bits of the first dword of a TLP's header.
constexpr uint32_t kFourDwords = 1u << 29;
constexpr uint32_t kWithData = 1u << 30;
constexpr uint32_t kPoisoned = 1u << 14;
// Positions of the attributes' lowest bits in the first dword of a TLP's header.
constexpr unsigned kOrderingAndSnoop = 12, kIdOrdering = 18;

// Format and type of the TLP for each request type of the RQ descriptor (PG213, "Transaction
// Types"): memory, I/O, atomics, locked read, configuration, messages. 0xff: there is no such
// request type.
constexpr uint8_t kRequests[16] = {0x00, 0x40, 0x02, 0x42, 0x4c, 0x4d, 0x4e, 0x01,
                                   0x04, 0x05, 0x44, 0x45, 0x30, 0x30, 0x30, 0xff};
constexpr uint8_t kCompletion = 0x0a;

uint32_t first_dword(uint8_t fmt_type, const Tlp &tlp) {
    uint32_t attributes = (tlp.attributes & 3u) << kOrderingAndSnoop |
                          (uint32_t{tlp.attributes} >> 2 & 1) << kIdOrdering;
    return uint32_t{fmt_type} << 24 | (tlp.poisoned ? kPoisoned : 0) | attributes |
           (tlp.dwords & 0x3ff);
}

bool refused(const Tlp &tlp) {
    return tlp.type == TlpType::Completion && tlp.status;
}

WireHeader completion_header(const Tlp &tlp, bool from_card) {
    uint16_t completer = from_card ? kCardId : kRootId;
    uint16_t requester = tlp.requester || from_card ? tlp.requester : kCardId;
    WireHeader header;
    header.dwords[0] = first_dword(kCompletion, tlp) | (wire_payload_bytes(tlp) ? kWithData : 0);
    if (refused(tlp)) header.dwords[0] &= ~0x3ffu;
    header.dwords[1] =
        uint32_t{completer} << 16 | (tlp.status & 7u) << 13 | (tlp.byte_count & 0xfff);
    header.dwords[2] = uint32_t{requester} << 16 | uint32_t{tlp.tag} << 8 | (tlp.address & 0x7f);
    return header;
}

uint8_t request_type(const Tlp &tlp) {
    switch (tlp.type) {
        case TlpType::MemRead: return kRequests[0];
        case TlpType::MemWrite: return kRequests[1];
        default: return kRequests[tlp.raw_type & 0xf];
    }
}

WireHeader request_header(const Tlp &tlp, bool from_card) {
    uint16_t requester = tlp.requester || !from_card ? tlp.requester : kCardId;
    uint32_t low = static_cast<uint32_t>(tlp.address) & ~3u;
    uint32_t high = static_cast<uint32_t>(tlp.address >> 32);
    WireHeader header;
    header.dwords[0] = first_dword(request_type(tlp), tlp);
    header.dwords[1] = uint32_t{requester} << 16 | uint32_t{tlp.tag} << 8 |
                       (tlp.last_be & 0xfu) << 4 | (tlp.first_be & 0xfu);
    // The header of a message always has four dwords.
    if (high || header.dwords[0] & kFourDwords) {
        header.dwords[0] |= kFourDwords;
        header.dwords[2] = high;
        header.dwords[3] = low;
        header.count = 4;
    } else {
        header.dwords[2] = low;
    }
    return header;
}

}  // namespace

unsigned wire_payload_bytes(const Tlp &tlp) {
    return refused(tlp) ? 0 : tlp.payload_bytes();
}

WireHeader wire_header(const Tlp &tlp, bool from_card) {
    return tlp.type == TlpType::Completion ? completion_header(tlp, from_card)
                                           : request_header(tlp, from_card);
}

}  // namespace lanebox
