// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "split_queue.hpp"

namespace lanebox::virtio {

namespace {

constexpr uint16_t kNext = 1, kWritable = 2, kIndirect = 4;  // flags of a descriptor
constexpr uint16_t kNoInterrupt = 1;                         // flag of the available ring
constexpr unsigned kRing = 4;  // offset of the entries in both rings, behind flags and index

std::string at(uint64_t address) {
    return "host memory at " + std::to_string(address);
}

}  // namespace

void HostMemory::read(uint64_t address, void *data, size_t bytes) {
    if (memory_.read(address, data, bytes)) return;
    unmapped_++;
    throw BadDriver(at(address) + " is not mapped for a read");
}

void HostMemory::write(uint64_t address, const void *data, size_t bytes) {
    if (memory_.write(address, data, bytes)) return;
    unmapped_++;
    throw BadDriver(at(address) + " is not mapped for a write");
}

void SplitQueue::switch_on(bool on) {
    if (on && !ready) taken_ = given_ = 0;
    ready = on;
}

uint16_t SplitQueue::available_index() {
    uint16_t index;
    memory_->read(available + 2, &index, sizeof index);
    if (static_cast<uint16_t>(index - taken_) > size)
        throw BadDriver("the available index is further ahead than the queue is long");
    return index;
}

std::optional<SplitQueue::Chain> SplitQueue::take(uint16_t index) {
    if (index == taken_) return std::nullopt;
    uint16_t head;
    memory_->read(available + kRing + 2 * (taken_ % size), &head, sizeof head);
    taken_++;
    return follow(head);
}

SplitQueue::Chain SplitQueue::follow(uint16_t head) {
    Chain chain{head, {}};
    uint64_t table = descriptors;
    uint32_t entries = size, next = head;
    while (true) {
        if (next >= entries) throw BadDriver("a descriptor's number lies beyond its table");
        if (chain.buffers.size() > size) throw BadDriver("a chain is longer than its queue");
        Descriptor found;
        memory_->read(table + sizeof found * next, &found, sizeof found);
        if (found.flags & kIndirect) {
            if (table != descriptors || found.bytes % sizeof found || !found.bytes)
                throw BadDriver("an indirect table is nested, empty or no multiple of 16 bytes");
            table = found.address;
            entries = found.bytes / sizeof found;
            next = 0;
            continue;
        }
        chain.buffers.push_back({found.address, found.bytes, (found.flags & kWritable) != 0});
        if (!(found.flags & kNext)) return chain;
        next = found.next;
    }
}

bool SplitQueue::give(uint16_t head, uint32_t bytes) {
    const uint32_t entry[] = {head, bytes};
    memory_->write(used + kRing + sizeof entry * (given_ % size), entry, sizeof entry);
    const uint16_t before = given_++;
    memory_->write(used + 2, &given_, sizeof given_);
    if (!event_indices) {
        uint16_t flags;
        memory_->read(available, &flags, sizeof flags);
        return !(flags & kNoInterrupt);
    }
    // The driver's used_event stands behind the available ring. It is read after the used index
    // was written, so that no wake-up is lost.
    uint16_t event;
    memory_->read(available + kRing + 2u * size, &event, sizeof event);
    return static_cast<uint16_t>(given_ - event - 1) < static_cast<uint16_t>(given_ - before);
}

void SplitQueue::ask_for_notification() {
    if (event_indices) memory_->write(used + kRing + 8u * size, &taken_, sizeof taken_);
}

}  // namespace lanebox::virtio
