// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "block/descriptor.hpp"

namespace lanebox {

namespace {

constexpr unsigned kTypeMemRead = 0;
constexpr unsigned kTypeMemWrite = 1;
// Error codes in the descriptor of RC (PG213, table "Requester Completion Descriptor").
constexpr uint32_t kErrorPoisoned = 1;
constexpr uint32_t kErrorStatus = 2;

// Bits of the RQ and CC descriptors that must be 0 (PG213's tables): the address type, since the
// model translates no addresses, the bits for locked reads and ECRC, and reserved bits.
constexpr uint32_t kRqZero[kRequestDescriptorDwords] = {0x3, 0, 0, 0x8000'0000};
constexpr uint32_t kCcZero[kCompletionDescriptorDwords] = {0xe000'ff80, 0x8000, 0x8000'0000};
constexpr unsigned kLongest = 1024;  // A TLP has at most 1024 dwords of payload, which are 4 KiB.

bool any(const std::vector<uint32_t> &dwords, const uint32_t *mask, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (dwords[i] & mask[i]) return true;
    return false;
}

uint32_t field(uint32_t word, unsigned low, unsigned bits) {
    return word >> low & ((1u << bits) - 1);
}

std::vector<uint32_t> with_payload(std::vector<uint32_t> descriptor, const Tlp &tlp) {
    descriptor.insert(descriptor.end(), tlp.payload.begin(), tlp.payload.end());
    return descriptor;
}

}  // namespace

std::vector<uint32_t> encode_cq(const Tlp &request, unsigned bar, unsigned bar_aperture_bits) {
    uint32_t type = request.type == TlpType::MemWrite ? kTypeMemWrite : kTypeMemRead;
    return with_payload(
        {static_cast<uint32_t>(request.address) & ~3u, static_cast<uint32_t>(request.address >> 32),
         request.dwords | type << 11 | uint32_t{request.requester} << 16,
         request.tag | bar << 16 | bar_aperture_bits << 19 | uint32_t{request.attributes} << 28},
        request);
}

std::vector<uint32_t> encode_rc(const Tlp &completion) {
    uint32_t low = static_cast<uint32_t>(completion.address) & 0xfff;
    uint32_t error = completion.rc_error   ? completion.rc_error
                     : completion.status   ? kErrorStatus
                     : completion.poisoned ? kErrorPoisoned
                                           : 0;
    return with_payload(
        {low | error << 12 | completion.byte_count << 16 | (completion.request_done ? 1u << 30 : 0),
         completion.dwords | uint32_t{completion.status} << 11 |
             (completion.poisoned ? 1u << 14 : 0) | uint32_t{completion.requester} << 16,
         completion.tag | uint32_t{completion.attributes} << 28},
        completion);
}

Tlp decode_rq(const std::vector<uint32_t> &dwords, uint8_t first_be, uint8_t last_be) {
    Tlp tlp;
    if (dwords.size() < kRequestDescriptorDwords) return tlp;
    tlp.address = uint64_t{dwords[1]} << 32 | (dwords[0] & ~3u);
    tlp.dwords = field(dwords[2], 0, 11);
    tlp.raw_type = static_cast<uint8_t>(field(dwords[2], 11, 4));
    tlp.poisoned = field(dwords[2], 15, 1);
    // If Requester ID Enable is 0, the hard block uses the ID that the host gave the card. The bit
    // is meant for root ports.
    bool own_id = field(dwords[3], 24, 1);
    tlp.requester = own_id ? static_cast<uint16_t>(dwords[2] >> 16) : kCardId;
    tlp.tag = static_cast<uint8_t>(dwords[3]);
    tlp.attributes = static_cast<uint8_t>(field(dwords[3], 28, 3));
    tlp.first_be = first_be;
    tlp.last_be = last_be;
    tlp.type = tlp.raw_type == kTypeMemRead    ? TlpType::MemRead
               : tlp.raw_type == kTypeMemWrite ? TlpType::MemWrite
                                               : TlpType::Other;
    bool poisoned_read = tlp.poisoned && tlp.type == TlpType::MemRead;
    tlp.reserved =
        any(dwords, kRqZero, kRequestDescriptorDwords) || tlp.dwords > kLongest || poisoned_read;
    tlp.payload.assign(dwords.begin() + kRequestDescriptorDwords, dwords.end());
    return tlp;
}

Tlp decode_cc(const std::vector<uint32_t> &dwords) {
    Tlp tlp;
    if (dwords.size() < kCompletionDescriptorDwords) return tlp;
    tlp.type = TlpType::Completion;
    tlp.address = field(dwords[0], 0, 7);
    tlp.byte_count = field(dwords[0], 16, 13);
    tlp.dwords = field(dwords[1], 0, 11);
    tlp.status = static_cast<uint8_t>(field(dwords[1], 11, 3));
    tlp.poisoned = field(dwords[1], 14, 1);
    tlp.requester = static_cast<uint16_t>(dwords[1] >> 16);
    tlp.tag = static_cast<uint8_t>(dwords[2]);
    tlp.attributes = static_cast<uint8_t>(field(dwords[2], 28, 3));
    auto status = static_cast<CplStatus>(tlp.status);
    bool known = status == CplStatus::Success || status == CplStatus::UnsupportedRequest ||
                 status == CplStatus::CompleterAbort;
    tlp.reserved = any(dwords, kCcZero, kCompletionDescriptorDwords) || !known;
    tlp.payload.assign(dwords.begin() + kCompletionDescriptorDwords, dwords.end());
    return tlp;
}

Tlp refused_request(const Tlp &completion) {
    std::vector<uint32_t> dwords(completion.payload.begin(), completion.payload.end());
    dwords.resize(1 + kRequestDescriptorDwords);
    Tlp tlp = decode_rq({dwords.begin() + 1, dwords.end()}, static_cast<uint8_t>(dwords[0] & 0xf),
                        static_cast<uint8_t>(dwords[0] >> 4 & 0xf));
    tlp.requester = static_cast<uint16_t>(dwords[3] >> 16);
    return tlp;
}

}  // namespace lanebox
