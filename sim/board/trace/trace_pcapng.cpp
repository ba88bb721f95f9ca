// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "pcie4/trace_pcapng.hpp"

namespace lanebox {

namespace {

// --- the wire: base specification 2.2 ------------------------------------------------------------

constexpr uint16_t kHostId = 0x0000;

// Bits of a header's first dword.
constexpr uint32_t kFourDwords = 1u << 29;
constexpr uint32_t kWithData = 1u << 30;
constexpr uint32_t kPoisoned = 1u << 14;
constexpr unsigned kOrderingAndSnoop = 12, kIdOrdering = 18;  // where the attributes are

// Format and type for each request type of the RQ descriptor (PG213, "Transaction Types"):
// memory, I/O, atomics, locked read, configuration, messages. 0xff where there is none.
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

unsigned payload_bytes(const Tlp &tlp) {
    return refused(tlp) ? 0 : tlp.payload_bytes();
}

WireHeader completion_header(const Tlp &tlp, bool from_card) {
    uint16_t completer = from_card ? kCardId : kHostId;
    uint16_t requester = tlp.requester || from_card ? tlp.requester : kCardId;
    WireHeader header;
    header.dwords[0] = first_dword(kCompletion, tlp) | (payload_bytes(tlp) ? kWithData : 0);
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
    if (high || header.dwords[0] & kFourDwords) {  // every message has four
        header.dwords[0] |= kFourDwords;
        header.dwords[2] = high;
        header.dwords[3] = low;
        header.count = 4;
    } else {
        header.dwords[2] = low;
    }
    return header;
}

// --- the file: draft-ietf-opsawg-pcapng ----------------------------------------------------------

constexpr uint32_t kSectionHeader = 0x0a0d0d0a, kInterface = 1, kEnhancedPacket = 6;
constexpr uint32_t kByteOrder = 0x1a2b3c4d;
constexpr uint16_t kLinkTypeUser0 = 147;
constexpr uint16_t kOptionName = 2, kOptionSpeed = 8, kOptionResolution = 9;
constexpr uint16_t kOptionComment = 1, kOptionFlags = 2;
constexpr uint32_t kInbound = 1, kOutbound = 2;       // as the card sees it
constexpr uint64_t kSpeed = 32 * 8 * 250'000'000ull;  // bits per second that 256 bit can carry

struct Interface {
    const char *name;
    bool from_card;
};
constexpr Interface kInterfaces[] = {
    {"CQ", false}, {"CC", true}, {"RQ", true}, {"RC", false}, {"MSI", true}};
constexpr unsigned kMsi = 4;

unsigned interface_number(const char *name, const Tlp &tlp) {
    if (tlp.interrupt) return kMsi;
    unsigned number = 0;
    while (number < kMsi && strcmp(kInterfaces[number].name, name) != 0) number++;
    return number;
}

struct SectionHeaderBlock {
    uint32_t type = kSectionHeader, length = 28;
    uint32_t byte_order = kByteOrder;
    uint16_t major = 1, minor = 0;
    uint32_t section_length[2] = {~0u, ~0u};  // unknown: the file may end at any time
    uint32_t length_again = 28;
};
static_assert(sizeof(SectionHeaderBlock) == 28);

struct InterfaceBlock {
    uint32_t type = kInterface, length = sizeof(InterfaceBlock);
    uint16_t link_type = kLinkTypeUser0, reserved = 0;
    uint32_t snap_length = 0;  // no limit
    uint16_t name_code = kOptionName, name_length = 0;
    char name[4] = {};
    uint16_t speed_code = kOptionSpeed, speed_length = 8;
    uint32_t speed[2] = {static_cast<uint32_t>(kSpeed), static_cast<uint32_t>(kSpeed >> 32)};
    uint16_t resolution_code = kOptionResolution, resolution_length = 1;
    uint8_t resolution[4] = {9, 0, 0, 0};  // 10^-9 s
    uint32_t end_of_options = 0;
    uint32_t length_again = sizeof(InterfaceBlock);
};
static_assert(sizeof(InterfaceBlock) == 52);

struct PacketHead {
    uint32_t type = kEnhancedPacket, length;
    uint32_t interface;
    uint32_t time_high, time_low;
    uint32_t captured, original;
};
static_assert(sizeof(PacketHead) == 28);

struct PacketFlags {
    uint16_t code = kOptionFlags, length = 4;
    uint32_t flags;
};
static_assert(sizeof(PacketFlags) == 8);

struct PacketTail {
    uint32_t end_of_options = 0;
    uint32_t length;
};
static_assert(sizeof(PacketTail) == 8);

// An option that is a text; empty when there is nothing to say.
std::string comment(const std::string &text) {
    if (text.empty()) return {};
    const uint16_t head[] = {kOptionComment, static_cast<uint16_t>(text.size())};
    std::string option(reinterpret_cast<const char *>(head), sizeof head);
    option += text;
    option.resize((option.size() + 3) / 4 * 4);
    return option;
}

}  // namespace

WireHeader wire_header(const Tlp &tlp, bool from_card) {
    return tlp.type == TlpType::Completion ? completion_header(tlp, from_card)
                                           : request_header(tlp, from_card);
}

PcapngTrace::PcapngTrace(const std::string &path) : file_(open_trace(path)) {
    SectionHeaderBlock section;
    put(&section, sizeof section);
    for (const Interface &interface : kInterfaces) {
        InterfaceBlock block;
        block.name_length = static_cast<uint16_t>(strlen(interface.name));
        memcpy(block.name, interface.name, block.name_length);
        put(&block, sizeof block);
    }
}

void PcapngTrace::put(const void *data, size_t bytes) {
    fwrite(data, 1, bytes, file_.get());
}

void PcapngTrace::write(const char *interface, Time at, Time span, const Tlp &tlp) {
    unsigned number = interface_number(interface, tlp);
    bool from_card = kInterfaces[number].from_card;
    WireHeader header = wire_header(tlp, from_card);
    for (uint32_t &dword : header.dwords) dword = __builtin_bswap32(dword);
    bool hindered = span && span != unhindered(interface, tlp);
    std::string remark =
        comment(hindered ? "pins " + std::to_string(span / kNanosecond) + " ns" : "");
    uint32_t captured = header.count * 4 + payload_bytes(tlp);
    uint64_t time = at / kNanosecond;
    PacketHead head;
    PacketFlags flags;
    PacketTail tail;
    head.length = tail.length =
        static_cast<uint32_t>(sizeof head + captured + remark.size() + sizeof flags + sizeof tail);
    head.interface = number;
    head.time_high = static_cast<uint32_t>(time >> 32);
    head.time_low = static_cast<uint32_t>(time);
    head.captured = head.original = captured;
    flags.flags = from_card ? kOutbound : kInbound;
    put(&head, sizeof head);
    put(header.dwords.data(), header.count * 4);
    put(tlp.payload.data(), payload_bytes(tlp));  // in memory as on the wire: lowest address first
    put(remark.data(), remark.size());
    put(&flags, sizeof flags);
    put(&tail, sizeof tail);
}

}  // namespace lanebox
