// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "card.hpp"

#include <cstring>

#include "link/numbers.hpp"

namespace lanebox::virtio {

namespace {

constexpr uint64_t kEnable = 0, kClear = 4, kVector = 8;  // interrupt registers
constexpr uint64_t kDmaBytes = 0x100;

constexpr size_t kNetStatus = 6;  // offset of the link's state in the configuration
constexpr uint64_t kMtuFeature = 1 << 3, kMacFeature = 1 << 5, kStatusFeature = 1 << 16;

Page::Kind net_kind() {
    Bytes configuration = {2, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0xdc, 5};  // MAC, link up, pairs, MTU
    return {1, kMtuFeature | kMacFeature | kStatusFeature, configuration, net_answer, false};
}

Page::Kind console_kind() {
    return {3, 1 /* SIZE */, {80, 0, 25, 0, 0, 0, 0, 0}, console_answer, true};
}

ConfigSpace::Power power(const Places &places) {
    ConfigSpace::Power power{};
    power.mps = 512;
    power.mrrs = 512;
    power.rcb = 64;
    power.bar0_bytes = places.bar_bytes;
    power.msix = places.msix;
    return power;
}

std::string field(const char *name, uint64_t value) {
    return "\"" + std::string(name) + "\": " + std::to_string(value);
}

std::string page_statistics(const Page &page) {
    const Page::Counts &counts = page.counts();
    return "{" + field("messages", counts.messages) + ", " + field("answers", counts.answers) +
           ", " + field("dropped", counts.dropped) + ", " + field("kicks", counts.kicks) + ", " +
           field("interrupts", counts.interrupts) + ", " + field("odd", counts.odd) + ", " +
           field("broken", counts.broken) + ", " + field("features", page.features()) + ", " +
           field("status", page.status()) + ", " + field("far", page.far_queues()) + "}";
}

}  // namespace

Card::Card(const Places &places, vfio_user::GuestMemory &memory, Message message)
    : places_(places),
      config_(power(places)),
      memory_(memory),
      message_(std::move(message)),
      pages_{
          Page(net_kind(), memory_, [this](unsigned source) { raise(places_.causes[0] + source); }),
          Page(console_kind(), memory_,
               [this](unsigned source) { raise(places_.causes[1] + source); })} {}

vfio_user::Shape Card::shape() const {
    vfio_user::Shape shape;
    shape.bar_bytes[0] = places_.bar_bytes;
    shape.config_bytes = ConfigSpace::kSize;
    shape.msix_vectors = places_.msix.vectors;
    return shape;
}

// --- interrupts ----------------------------------------------------------------------------------

// A cause that is not enabled is dropped. With MSI each event of a cause sends a message, whether
// the host has cleared the cause or not.
void Card::raise(unsigned cause) {
    const uint32_t bit = interrupts_.enable & 1u << cause;
    if (!bit || !config_.bus_master()) return;
    messages_++;
    if (config_.msix_enabled()) return message_(static_cast<int>(cause));
    interrupts_.vector |= bit;
    if (config_.msi_enabled()) message_(-1);
}

void Card::interrupt_write(uint64_t offset, uint32_t value) {
    if (offset == kEnable) interrupts_.enable = value;
    if (offset == kClear) interrupts_.vector &= ~value;
    interrupts_.vector &= interrupts_.enable;
}

// --- BAR0 ----------------------------------------------------------------------------------------

void Card::read_part(uint64_t offset, uint8_t *data, unsigned bytes) {
    memset(data, 0, bytes);
    for (size_t n = 0; n < pages_.size(); n++)
        if (offset - places_.pages[n] < Page::kBytes)
            return pages_[n].read(offset - places_.pages[n], data, bytes);
    uint32_t value = 0;
    if (offset - places_.table_at <= places_.table.size() - sizeof value)
        memcpy(&value, &places_.table[offset - places_.table_at], sizeof value);
    else if (offset == places_.interrupts + kEnable)
        value = interrupts_.enable;
    else if (offset == places_.interrupts + kVector)
        value = interrupts_.vector;
    else if (offset - places_.dma < kDmaBytes)
        value = numbers::kDmaEnableIdle;
    if (bytes == sizeof value) memcpy(data, &value, sizeof value);
}

void Card::bar_read(unsigned, uint64_t offset, unsigned bytes, ReadDone done) {
    std::vector<uint8_t> data(bytes, 0xff);
    reads_++;
    if (reachable()) read_part(offset, data.data(), bytes);
    done(data.data());
}

void Card::bar_write(unsigned, uint64_t offset, const void *data, unsigned bytes) {
    if (!reachable()) return;
    const auto *from = static_cast<const uint8_t *>(data);
    for (size_t n = 0; n < pages_.size(); n++)
        if (offset - places_.pages[n] < Page::kBytes)
            return pages_[n].write(offset - places_.pages[n], from, bytes);
    uint32_t value;
    if (bytes != sizeof value) return;
    memcpy(&value, data, sizeof value);
    if (offset - places_.interrupts <= kVector) interrupt_write(offset - places_.interrupts, value);
}

// --- configuration space -------------------------------------------------------------------------

void Card::config_read(unsigned offset, void *data, unsigned bytes) {
    config_.read(offset, data, bytes);
    if (!present_) memset(data, 0xff, bytes);
}

void Card::config_write(unsigned offset, const void *data, unsigned bytes) {
    if (!present_) return;
    config_.write(offset, data, bytes);
    if (config_.flr_in_process()) config_.end_flr();
    if (config_.power_change_pending()) config_.acknowledge_power_change();
}

bool Card::reset() {
    config_.reset();
    interrupts_ = {};
    for (Page &page : pages_) page.reset();
    return true;
}

// --- the control socket --------------------------------------------------------------------------

std::string Card::statistics() const {
    return "{" + field("unmapped", memory_.unmapped()) + ", \"violations\": {}, " +
           field("reads", reads_) + ", " + field("messages", messages_) +
           ", \"net\": " + page_statistics(pages_[0]) +
           ", \"console\": " + page_statistics(pages_[1]) + "}";
}

std::string Card::answer(const std::string &line) {
    if (line == "stats") return statistics();
    if (line == "fault remove" || line == "fault insert") {
        reset();
        present_ = line == "fault insert";
    } else if (line == "link up" || line == "link down") {
        pages_[0].configure(kNetStatus, line == "link up");
    } else if (line == "net stick" || line == "net free") {
        pages_[0].stick(line == "net stick");
    } else {
        return "{\"error\": \"the commands are stats, fault remove, fault insert, link up, "
               "link down, net stick, net free\"}";
    }
    return "{}";
}

}  // namespace lanebox::virtio
