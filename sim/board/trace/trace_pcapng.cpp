// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "trace/trace_pcapng.hpp"

#include "link/numbers.hpp"
#include "link/wire_header.hpp"

namespace lanebox {

namespace {

// Options of the pcapng format, by draft-ietf-opsawg-pcapng.

constexpr uint16_t kLinkTypeUser0 = 147;
constexpr uint16_t kOptionComment = 1, kOptionSpeed = 8;
// Speed of each traced interface in bits per second.
constexpr uint64_t kSpeed = uint64_t{numbers::kDataWidth} * numbers::kSysClkFreq;

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
    uint32_t type = numbers::kPcapngSection, length = 28;
    uint32_t byte_order = numbers::kPcapngOrderMagic;
    uint16_t major = 1, minor = 0;
    // The section of the pcapng file has an unknown length, since the file may end at any time.
    uint32_t section_length[2] = {~0u, ~0u};
    uint32_t length_again = 28;
};
static_assert(sizeof(SectionHeaderBlock) == 28);

struct InterfaceBlock {
    uint32_t type = numbers::kPcapngInterface, length = sizeof(InterfaceBlock);
    uint16_t link_type = kLinkTypeUser0, reserved = 0;
    uint32_t snap_length = 0;  // A snap length of 0: packets may have any length.
    uint16_t name_code = numbers::kPcapngName, name_length = 0;
    char name[4] = {};
    uint16_t speed_code = kOptionSpeed, speed_length = 8;
    uint32_t speed[2] = {static_cast<uint32_t>(kSpeed), static_cast<uint32_t>(kSpeed >> 32)};
    uint16_t resolution_code = numbers::kPcapngTsresol, resolution_length = 1;
    uint8_t resolution[4] = {9, 0, 0, 0};  // Time stamps are in units of 10^-9 s.
    uint32_t end_of_options = 0;
    uint32_t length_again = sizeof(InterfaceBlock);
};
static_assert(sizeof(InterfaceBlock) == 52);

struct PacketHead {
    uint32_t type = numbers::kPcapngRecord, length;
    uint32_t interface;
    uint32_t time_high, time_low;
    uint32_t captured, original;
};
static_assert(sizeof(PacketHead) == 28);

struct PacketFlags {
    uint16_t code = numbers::kPcapngFlags, length = 4;
    uint32_t flags;
};
static_assert(sizeof(PacketFlags) == 8);

struct PacketTail {
    uint32_t end_of_options = 0;
    uint32_t length;
};
static_assert(sizeof(PacketTail) == 8);

// Returns a pcapng comment option with this text, padded to 4 bytes. Returns nothing if the text is
// empty.
std::string comment(const std::string &text) {
    if (text.empty()) return {};
    const uint16_t head[] = {kOptionComment, static_cast<uint16_t>(text.size())};
    std::string option(reinterpret_cast<const char *>(head), sizeof head);
    option += text;
    option.resize((option.size() + 3) / 4 * 4);
    return option;
}

}  // namespace

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
    uint32_t captured = header.count * 4 + wire_payload_bytes(tlp);
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
    flags.flags = from_card ? numbers::kPcapngOutbound : numbers::kPcapngInbound;
    put(&head, sizeof head);
    put(header.dwords.data(), header.count * 4);
    // The payload is not swapped as the header's dwords are: its bytes have the link's order
    // already.
    put(tlp.payload.data(), wire_payload_bytes(tlp));
    put(remark.data(), remark.size());
    put(&flags, sizeof flags);
    put(&tail, sizeof tail);
}

}  // namespace lanebox
