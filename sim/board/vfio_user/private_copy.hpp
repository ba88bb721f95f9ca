// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Finds out whether the client's memory is a private copy of the file that it handed over.
//
// QEMU with share=off hands over descriptors as well, but uses a private copy of the memory, so DMA
// silently has no effect. The check asks the client for samples of its memory by message and
// compares them with the mapped file. If the memory is a private copy, no sample that holds data is
// the same in both. Only clients that announce max_data_xfer_size can be asked.
#pragma once

#include <cstdint>
#include <deque>

#include "vfio_user/guest_memory.hpp"

namespace lanebox::vfio_user {

class PrivateCopyCheck {
public:
    static constexpr unsigned kSampleBytes = 64;

    enum class Verdict { Unknown, Shared, Private };

    // Chooses samples in all large windows of mapped memory. If there are none, nothing runs.
    void start(const GuestMemory &memory);
    bool running() const { return !samples_.empty(); }
    DmaAccess next() const { return {samples_.front(), kSampleBytes}; }
    // Compares a sample of guest memory with the mapped file. `data` has the kSampleBytes bytes of
    // the sample next(), as the client sent them.
    Verdict compare(const GuestMemory &memory, const uint8_t *data);
    void stop() { samples_.clear(); }

private:
    std::deque<uint64_t> samples_;
    unsigned same_ = 0, different_ = 0;
};

}  // namespace lanebox::vfio_user
