// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "ring.hpp"

#include <sys/mman.h>

#include <cstring>
#include <stdexcept>

namespace lanebox::line {

namespace {

constexpr size_t kDescriptor = 16, kUsedElement = 8;  // bytes
constexpr size_t kIndex = 2, kEntries = 4;            // offsets in both rings
constexpr uint16_t kWrite = 2;                        // flag: the device writes the buffer

}  // namespace

Ring::Ring(const RingPlace &place, bool receives, uint16_t offered)
    : place_(place),
      receives_(receives),
      available_(kDescriptor * place.size),
      length_(place.buffers + place.size * place.buffer_bytes),
      index_(offered),
      shown_(offered) {
    void *memory = mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_SHARED, place.file, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("the memory of a queue cannot be mapped");
    memory_ = static_cast<uint8_t *>(memory);
}

Ring::~Ring() {
    munmap(memory_, length_);
}

// The board's process stands still while this one looks at memory, since it waits for a message on
// a socket. So no access needs a barrier.
template <typename T>
void Ring::put(size_t at, T value) {
    memcpy(memory_ + at, &value, sizeof value);
}

template <typename T>
T Ring::get(size_t at) const {
    T value;
    memcpy(&value, memory_ + at, sizeof value);
    return value;
}

uint8_t *Ring::buffer(uint16_t chain) const {
    return memory_ + place_.buffers + chain * place_.buffer_bytes;
}

uint16_t Ring::used() const {
    return static_cast<uint16_t>(get<uint16_t>(place_.used + kIndex) - seen_);
}

std::optional<Ring::Used> Ring::take() {
    if (!used()) return {};
    if (used() > held()) throw std::runtime_error("the device has used chains that it had not");
    const size_t at = place_.used + kEntries + kUsedElement * (seen_ % place_.size);
    const auto chain = get<uint32_t>(at);
    if (chain >= place_.size) throw std::runtime_error("the device has used a chain beyond all");
    seen_++;
    return Used{static_cast<uint16_t>(chain), get<uint32_t>(at + 4)};
}

void Ring::offer(uint16_t chain, uint32_t bytes) {
    const size_t at = kDescriptor * chain;
    put<uint64_t>(at, place_.address + place_.buffers + chain * place_.buffer_bytes);
    put<uint32_t>(at + 8, bytes);
    put<uint16_t>(at + 12, receives_ ? kWrite : 0);
    put<uint16_t>(at + 14, 0);
    put<uint16_t>(available_ + kEntries + 2 * (index_ % place_.size), chain);
    index_++;
}

bool Ring::publish() {
    put<uint16_t>(available_ + kIndex, index_);
    // `used_event` names a chain that was used long ago.
    put<uint16_t>(available_ + kEntries + 2 * place_.size, static_cast<uint16_t>(seen_ - 1));
    const auto event = get<uint16_t>(place_.used + kEntries + kUsedElement * place_.size);
    const auto behind = static_cast<uint16_t>(index_ - event - 1);
    const bool wanted = behind < static_cast<uint16_t>(index_ - shown_);
    shown_ = index_;
    return wanted;
}

}  // namespace lanebox::line
