// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "page.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "link/numbers.hpp"

namespace lanebox::virtio {

namespace {

constexpr uint32_t kMagic = numbers::kVirtioMagic, kVersion = 2, kVendor = 0x4c42;
constexpr uint32_t kQueueSize = numbers::kVirtioQueueSize;
constexpr unsigned kQueues = 2;
constexpr size_t kMostWaiting = 1024;  // answers

enum Register : uint64_t {
    kMagicValue = 0x00,
    kVersionValue = 0x04,
    kDeviceId = 0x08,
    kVendorId = 0x0c,
    kOffered = 0x10,
    kOfferedHalf = 0x14,
    kChosen = 0x20,
    kChosenHalf = 0x24,
    kSelect = 0x30,
    kSizeMax = 0x34,
    kSize = 0x38,
    kReady = 0x44,
    kNotify = 0x50,
    kInterruptStatus = 0x60,
    kInterruptAck = 0x64,
    kStatus = 0x70,
    kDescriptors = 0x80,
    kAvailable = 0x90,
    kUsed = 0xa0,
    kGeneration = 0xfc,
    kConfiguration = 0x100,
};

constexpr uint32_t kDriverOk = 4, kFeaturesOk = 8, kNeedsReset = 0x40;  // bits of the status
constexpr uint32_t kUsedBuffer = 1, kConfigurationChange = 2;  // bits of the interrupt status

constexpr uint64_t bit(unsigned number) {
    return uint64_t{1} << number;
}
constexpr uint64_t kIndirect = bit(28), kEventIndex = bit(29), kVersion1 = bit(32);
constexpr uint64_t kAccessPlatform = bit(33), kOrderPlatform = bit(36);
constexpr uint64_t kNotificationData = bit(38);
constexpr uint64_t kAlways =
    kIndirect | kEventIndex | kVersion1 | kAccessPlatform | kOrderPlatform | kNotificationData;

}  // namespace

Page::Page(Kind kind, HostMemory &memory, Interrupt interrupt)
    : kind_(std::move(kind)), memory_(memory), interrupt_(std::move(interrupt)) {
    kind_.features |= kAlways;
    reset();
}

void Page::reset() {
    queues_.assign(kQueues, SplitQueue(memory_));
    waiting_.clear();
    chosen_ = 0;
    offered_half_ = chosen_half_ = selected_ = status_ = interrupt_status_ = 0;
}

// --- registers -----------------------------------------------------------------------------------

void Page::read(uint64_t offset, uint8_t *data, unsigned bytes) {
    memset(data, 0, bytes);
    const bool odd = bytes != 4 || offset % 4;
    counts_.odd += odd;
    if (offset >= kConfiguration) {
        for (unsigned n = 0; n < bytes; n++)
            if (size_t at = offset + n - kConfiguration; at < kind_.configuration.size())
                data[n] = kind_.configuration[at];
    } else if (!odd) {
        const uint32_t value = register_value(offset);
        memcpy(data, &value, sizeof value);
    }
}

void Page::write(uint64_t offset, const uint8_t *data, unsigned bytes) {
    if (bytes != 4 || offset % 4) {
        counts_.odd++;
        return;
    }
    uint32_t value;
    memcpy(&value, data, sizeof value);
    try {
        set_register(offset, value);
    } catch (const BadDriver &error) {
        counts_.broken++;
        fprintf(stderr, "virtio device %u: %s\n", kind_.type, error.what());
        status_ |= kNeedsReset;
        interrupt(kQueues);
    }
}

uint32_t Page::register_value(uint64_t offset) {
    switch (offset) {
        case kMagicValue: return kMagic;
        case kVersionValue: return kVersion;
        case kDeviceId: return kind_.type;
        case kVendorId: return kVendor;
        case kOffered:
            return offered_half_ > 1 ? 0
                                     : static_cast<uint32_t>(kind_.features >> 32 * offered_half_);
        case kSizeMax: return selected_ < kQueues ? kQueueSize : 0;
        case kReady: return selected_ < kQueues && selected().ready;
        case kInterruptStatus: return interrupt_status_;
        case kStatus: return status_;
        case kGeneration: return generation_;
        default: return 0;
    }
}

void Page::set_address(uint64_t SplitQueue::*address, bool high, uint32_t value) {
    uint64_t &place = selected().*address;
    const unsigned shift = high ? 32 : 0;
    place = (place & ~(uint64_t{0xffffffff} << shift)) | uint64_t{value} << shift;
}

unsigned Page::far_queues() const {
    unsigned count = 0;
    for (const SplitQueue &queue : queues_) count += queue.descriptors >> 32 != 0;
    return count;
}

void Page::set_register(uint64_t offset, uint32_t value) {
    switch (offset) {
        case kOfferedHalf: offered_half_ = value; break;
        case kChosenHalf: chosen_half_ = value; break;
        case kChosen:
            if (chosen_half_ < 2) {
                const unsigned shift = 32 * chosen_half_;
                chosen_ &= ~(uint64_t{0xffffffff} << shift);
                chosen_ |= uint64_t{value} << shift;
            }
            break;
        case kSelect: selected_ = value; break;
        case kSize: selected().size = static_cast<uint16_t>(value); break;
        case kReady:
            selected().event_indices = chosen_ & kEventIndex;
            selected().switch_on(value & 1);
            break;
        case kNotify: notified(value); break;
        case kInterruptAck: interrupt_status_ &= ~value; break;
        case kStatus: set_status(value); break;
        case kDescriptors:
        case kDescriptors + 4: set_address(&SplitQueue::descriptors, offset & 4, value); break;
        case kAvailable:
        case kAvailable + 4: set_address(&SplitQueue::available, offset & 4, value); break;
        case kUsed:
        case kUsed + 4: set_address(&SplitQueue::used, offset & 4, value); break;
        default: break;
    }
}

// The device accepts features only if it offers all of them, and if VERSION_1 is among them.
void Page::set_status(uint32_t status) {
    if (stuck_) return;
    if (status == 0) return reset();
    const bool sound = !(chosen_ & ~kind_.features) && chosen_ & kVersion1;
    status_ = status & kFeaturesOk && !sound ? status & ~kFeaturesOk : status;
}

void Page::configure(size_t offset, uint8_t value) {
    kind_.configuration.at(offset) = value;
    generation_++;
    if (status_ & kDriverOk) interrupt(kQueues);
}

void Page::interrupt(unsigned source) {
    interrupt_status_ |= source == kQueues ? kConfigurationChange : kUsedBuffer;
    counts_.interrupts++;
    interrupt_(source);
}

// --- queues --------------------------------------------------------------------------------------

void Page::notified(uint32_t value) {
    const unsigned number = value & 0xffff;
    counts_.kicks++;
    if (!(status_ & kDriverOk) || status_ & kNeedsReset) return;
    if (number >= kQueues || !queues_[number].ready) throw BadDriver("no such queue was notified");
    SplitQueue &queue = queues_[number];
    // With NOTIFICATION_DATA the notification has the available index in its upper half.
    const auto told = static_cast<uint16_t>(value >> 16);
    const uint16_t index = queue.available_index();
    if (chosen_ & kNotificationData && static_cast<uint16_t>(index - told) > queue.size)
        throw BadDriver("a notification has an index that the available ring has not reached");
    if (number % 2)
        transmit(number, chosen_ & kNotificationData ? told : index);
    else
        deliver(number);
}

Bytes Page::collect(const SplitQueue::Chain &chain) {
    Bytes message;
    for (const SplitQueue::Buffer &buffer : chain.buffers) {
        if (buffer.writable) throw BadDriver("a buffer to transmit is one for the device to write");
        const size_t at = message.size();
        message.resize(at + buffer.bytes);
        memory_.read(buffer.address, &message[at], buffer.bytes);
    }
    return message;
}

// Takes what the driver transmits, until the available index is reached. The index is read again
// after the driver was asked for a notification: a chain that came between would wait for ever.
void Page::transmit(unsigned number, uint16_t index) {
    SplitQueue &queue = queues_[number];
    do {
        while (auto chain = queue.take(index)) {
            Bytes message = collect(*chain);
            if (queue.give(chain->head, 0)) interrupt(number);
            counts_.messages++;
            Bytes answer = kind_.answer(std::move(message));
            if (answer.empty()) continue;
            if (waiting_.size() < kMostWaiting)
                waiting_.push_back(std::move(answer));
            else
                counts_.dropped++;
            deliver(number - 1);
        }
        queue.ask_for_notification();
        const uint16_t now = queue.available_index();
        if (now == index) return;
        index = now;
    } while (true);
}

void Page::deliver(unsigned number) {
    SplitQueue &queue = queues_[number];
    if (!queue.ready) return;
    const uint16_t index = queue.available_index();
    while (!waiting_.empty() && deliver_one(number, index)) {
    }
    queue.ask_for_notification();
}

// Writes the first answer that waits into the driver's next chain. Returns false if there is no
// chain.
bool Page::deliver_one(unsigned number, uint16_t index) {
    auto chain = queues_[number].take(index);
    if (!chain) return false;
    Bytes &answer = waiting_.front();
    size_t written = 0;
    for (const SplitQueue::Buffer &buffer : chain->buffers) {
        const size_t bytes = std::min<size_t>(buffer.bytes, answer.size() - written);
        if (!buffer.writable) throw BadDriver("a buffer to receive is not for the device to write");
        if (bytes) memory_.write(buffer.address, &answer[written], bytes);
        written += bytes;
    }
    if (queues_[number].give(chain->head, static_cast<uint32_t>(written))) interrupt(number);
    if (written < answer.size() && kind_.is_stream) {
        answer.erase(answer.begin(), answer.begin() + static_cast<ptrdiff_t>(written));
        return true;
    }
    counts_.answers += written == answer.size();
    counts_.dropped += written != answer.size();
    waiting_.pop_front();
    return true;
}

}  // namespace lanebox::virtio
