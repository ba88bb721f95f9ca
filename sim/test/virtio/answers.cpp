// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "answers.hpp"

#include <algorithm>
#include <array>

namespace lanebox::virtio {

namespace {

constexpr size_t kHeader = 12;  // bytes of struct virtio_net_hdr, with num_buffers
constexpr std::array<uint8_t, 6> kMac = {2, 0, 0, 0, 0, 2};
constexpr unsigned kArp = 0x0806, kIpv4 = 0x0800;
constexpr uint8_t kIcmp = 1, kUdp = 17, kEchoRequest = 8;

unsigned word(const uint8_t *at) {
    return static_cast<unsigned>(at[0] << 8 | at[1]);
}

void swap(uint8_t *one, uint8_t *other, size_t bytes) {
    std::swap_ranges(one, one + bytes, other);
}

// Turns an ARP request into the reply. The sender's pair of addresses is at 22, the target's at 32.
bool answer_arp(uint8_t *frame) {
    if (word(frame + 20) != 1) return false;
    frame[21] = 2;
    swap(frame + 22, frame + 32, 10);
    std::copy(kMac.begin(), kMac.end(), frame + 22);
    return true;
}

// Turns a ping into its reply. The type falls by 8 in the high byte of a word, so the checksum, a
// one's complement sum, rises by 0x800.
bool answer_icmp(uint8_t *frame) {
    if (frame[34] != kEchoRequest) return false;
    frame[34] = 0;
    unsigned sum = word(frame + 36) + 0x800;
    sum = (sum & 0xffff) + (sum >> 16);
    frame[36] = static_cast<uint8_t>(sum >> 8);
    frame[37] = static_cast<uint8_t>(sum);
    return true;
}

bool answer_ipv4(uint8_t *frame) {
    swap(frame + 26, frame + 30, 4);
    if (frame[23] == kIcmp) return answer_icmp(frame);
    if (frame[23] != kUdp) return false;
    swap(frame + 34, frame + 36, 2);
    return true;
}

}  // namespace

Bytes console_answer(Bytes message) {
    return message;
}

Bytes net_answer(Bytes message) {
    if (message.size() < kHeader + 42) return {};
    uint8_t *frame = &message[kHeader];
    const unsigned type = word(frame + 12);
    std::copy(frame + 6, frame + 12, frame);
    std::copy(kMac.begin(), kMac.end(), frame + 6);
    if (!(type == kArp && answer_arp(frame)) && !(type == kIpv4 && answer_ipv4(frame))) return {};
    std::fill(message.begin(), message.begin() + kHeader, uint8_t{0});
    message[10] = 1;  // num_buffers
    return message;
}

}  // namespace lanebox::virtio
