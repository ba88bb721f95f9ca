// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "vfio_user/private_copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace lanebox::vfio_user {

namespace {

// Windows of guest memory below 1 MiB are ROMs and frame buffers, which are not checked.
constexpr uint64_t kLargeWindow = 1u << 20;
constexpr unsigned kSamplesPerWindow = 256;
// Samples of guest memory that a verdict needs. A single one may have changed meanwhile.
constexpr unsigned kEnough = 4;

}  // namespace

void PrivateCopyCheck::start(const GuestMemory &memory) {
    samples_.clear();
    same_ = different_ = 0;
    for (const auto &[address, window] : memory.windows()) {
        if (window.size < kLargeWindow || !window.bytes || !(window.flags & kDmaWritable)) continue;
        uint64_t stride = window.size / kSamplesPerWindow;
        for (unsigned i = 0; i < kSamplesPerWindow; i++) samples_.push_back(address + i * stride);
    }
}

PrivateCopyCheck::Verdict PrivateCopyCheck::compare(const GuestMemory &memory,
                                                    const uint8_t *data) {
    std::array<uint8_t, kSampleBytes> mapped{};
    bool readable = memory.read(samples_.front(), mapped.data(), kSampleBytes);
    samples_.pop_front();
    bool holds_data =
        std::any_of(data, data + kSampleBytes, [](uint8_t byte) { return byte != 0; });
    if (readable && holds_data) ++(memcmp(mapped.data(), data, kSampleBytes) ? different_ : same_);
    Verdict verdict = same_ >= kEnough                      ? Verdict::Shared
                      : different_ >= kEnough && same_ == 0 ? Verdict::Private
                                                            : Verdict::Unknown;
    if (verdict != Verdict::Unknown) samples_.clear();
    return verdict;
}

}  // namespace lanebox::vfio_user
