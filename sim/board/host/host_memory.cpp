// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "host/host_memory.hpp"

#include <algorithm>
#include <vector>

namespace lanebox {

namespace {

// After MSI-X was masked at the pins, a message may still appear on RQ for this time, since the
// card's own registers delay the mask. A message that has appeared stays, however long RQ is held
// off.
constexpr Time kMessageOnItsWay = 4 * kCycle;
constexpr Time kAlways = ~Time{0};

}  // namespace

void HostMemory::write(Tlp &write) {
    if (Time length = timing_.write_stall.sample(random_)) stall(length);
    if (write.interrupt) {
        if (faults_.lose_msi()) return;
        ++(host_.interrupt() ? counters_.msi : counters_.msi_lost);
        return;
    }
    if (write.payload.empty()) return;
    if (write.dwords == 1 && message(write)) return;
    faults_.on_c2h_write(write);
    counters_.bytes_written += write.payload_bytes();
    if (!store(write)) counters_.unmapped++;
}

void HostMemory::stall(Time length) {
    writes_from_ = now_ + length;
    counters_.write_stalls++;
}

// Delivers a write that is an MSI-X message. Only the address and data of the write say that it is
// one. Returns false if the write is not a message.
bool HostMemory::message(const Tlp &write) {
    std::optional<unsigned> vector = host_.vector_of(write.address, write.payload.front());
    if (!vector) return false;
    rules_.check(write.shown_at <= messages_until_, Rule::MsiDisabled, write,
                 "MSI-X was disabled or masked before RQ was shown the message");
    if (faults_.lose_msi()) return true;
    ++(host_.interrupt(*vector) ? counters_.msi : counters_.msi_lost);
    return true;
}

// Stores the enabled bytes of a write. The byte enables of a write of one or two dwords may have
// holes, and those of one dword may all be 0.
bool HostMemory::store(const Tlp &write) {
    const auto *data = reinterpret_cast<const uint8_t *>(write.payload.data());
    if (write.payload.size() > 2) {
        unsigned skip = first_enabled(write.first_be);
        unsigned bytes = bytes_enabled(write.first_be, write.last_be, write.dwords);
        bytes = std::min(bytes, write.payload_bytes() - skip);
        return host_.memory_write(write.address + skip, data + skip, bytes);
    }
    bool stored = true;
    for (unsigned i = 0; i < write.payload_bytes(); i++) {
        uint8_t enables = i < 4 ? write.first_be : write.last_be;
        if (enables >> i % 4 & 1) stored &= host_.memory_write(write.address + i, data + i, 1);
    }
    return stored;
}

void HostMemory::read(const Tlp &read) {
    if (faults_.drop_completion()) return completer.lose(read);
    std::vector<uint32_t> data(read.dwords);
    bool mapped = host_.memory_read(read.address, data.data(), read.dwords * 4);
    if (!mapped) counters_.unmapped++;
    if (!mapped || faults_.unsupported())
        return completer.refuse(read, CplStatus::UnsupportedRequest, now_);
    if (faults_.abort()) return completer.refuse(read, CplStatus::CompleterAbort, now_);
    counters_.bytes_read += read.dwords * 4;
    completer.complete(read, data, now_);
}

void HostMemory::configure() {
    if (config_.msix_enabled() && !config_.msix_masked())
        messages_until_ = kAlways;
    else if (messages_until_ == kAlways)
        messages_until_ = now_ + kMessageOnItsWay;
}

void HostMemory::reset() {
    completer.reset();
    writes_from_ = 0;
}

}  // namespace lanebox
