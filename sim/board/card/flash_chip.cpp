// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "card/flash_chip.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "link/numbers.hpp"

namespace lanebox {

namespace {

constexpr uint64_t kPage = 256;
constexpr unsigned kHeader = 6;  // most bytes in front of data: opcode, 4 of address, 1 dummy
constexpr Time kMicrosecond = 1000 * kNanosecond;

// Typical times of programming and erasing by the data sheet of MT25QU256.
constexpr Time kProgramTime = 120 * kMicrosecond;
constexpr Time kStatusTime = 1300 * kMicrosecond;
constexpr Time kErase4k = 50'000 * kMicrosecond;
constexpr Time kErase32k = 100'000 * kMicrosecond;
constexpr Time kErase64k = 150'000 * kMicrosecond;
constexpr Time kEraseAll = 77'000'000 * kMicrosecond;

// CS# must be high for at least this time between two commands.
constexpr Time kDeselected = 50 * kNanosecond;

// Bits of the flag status register: the chip is ready; an erase or program failed because the
// sector is protected. Bit 0 is set while addresses have four bytes.
constexpr uint8_t kReady = 0x80, kProtectionFailed = 0x02;

// Opcodes that the card's engine never sends: see gateware/card/commands.py for the reason. Others
// are in gateware/numbers.py.
constexpr uint8_t kWriteStatus = 0x01, kWriteNonvolatile = 0xb1, kWriteVolatile = 0x81,
                  kWriteExtended = 0xc5, kFourBytes = 0xb7, kThreeBytes = 0xe9, kSleep = 0xb9,
                  kNothing = 0xff;

// In the first part of its time, which is this fraction, an erase clears all bits. In the second
// part it sets them.
constexpr double kPreprogram = 0.3;

// The address of a command: it has none, one with as many bytes as the mode says, or one of four.
enum class Form { None, Mode, Four };

struct Entry {
    uint8_t opcode;
    Form form;
    unsigned dummies;
    bool reads;
    bool pairs = false;  // The chip sends the data on two lines, two bits a clock.
};

// The commands that the model of the chip carries out. It reports all others as unknown.
constexpr Entry kCommands[] = {
    {numbers::kFlashOpcodeReadShort, Form::Mode, 0, true},
    {numbers::kFlashOpcodeReadFastShort, Form::Mode, 1, true},
    {numbers::kFlashOpcodeRead, Form::Four, 0, true},
    {numbers::kFlashOpcodeReadFast, Form::Four, 1, true},
    {numbers::kFlashOpcodeDiscover, Form::Mode, 1, true},
    {numbers::kFlashOpcodeProgramShort, Form::Mode, 0, false},
    {numbers::kFlashOpcodeProgram, Form::Four, 0, false},
    {numbers::kFlashOpcodeErase4kShort, Form::Mode, 0, false},
    {numbers::kFlashOpcodeErase32kShort, Form::Mode, 0, false},
    {numbers::kFlashOpcodeErase64kShort, Form::Mode, 0, false},
    {numbers::kFlashOpcodeErase4k, Form::Four, 0, false},
    {numbers::kFlashOpcodeErase32k, Form::Four, 0, false},
    {numbers::kFlashOpcodeErase64k, Form::Four, 0, false},
    {numbers::kFlashOpcodeEraseAll, Form::None, 0, false},
    {numbers::kFlashOpcodeEraseAllToo, Form::None, 0, false},
    {numbers::kFlashOpcodeIdentify, Form::None, 0, true},
    {numbers::kFlashOpcodeIdentifyToo, Form::None, 0, true},
    {numbers::kFlashOpcodeReadStatus, Form::None, 0, true},
    {numbers::kFlashOpcodeReadFlags, Form::None, 0, true},
    {numbers::kFlashOpcodeReadNonvolatile, Form::None, 0, true},
    {numbers::kFlashOpcodeReadVolatile, Form::None, 0, true},
    {numbers::kFlashOpcodeReadExtended, Form::None, 0, true},
    {numbers::kFlashOpcodeWriteEnable, Form::None, 0, false},
    {numbers::kFlashOpcodeWriteDisable, Form::None, 0, false},
    {numbers::kFlashOpcodeClearFlags, Form::None, 0, false},
    {kWriteStatus, Form::None, 0, false},
    {kWriteNonvolatile, Form::None, 0, false},
    {kWriteVolatile, Form::None, 0, false},
    {kWriteExtended, Form::None, 0, false},
    {kFourBytes, Form::None, 0, false},
    {kThreeBytes, Form::None, 0, false},
    {numbers::kFlashOpcodeEnableReset, Form::None, 0, false},
    {numbers::kFlashOpcodeReset, Form::None, 0, false},
    {numbers::kFlashOpcodeWake, Form::None, 0, false},
    {kSleep, Form::None, 0, false},
    {kNothing, Form::None, 0, false},
    {numbers::kFlashOpcodeReadPairs, Form::Four, 1, true, true},
};

const Entry *find(uint8_t opcode) {
    auto found = std::find_if(std::begin(kCommands), std::end(kCommands),
                              [opcode](const Entry &entry) { return entry.opcode == opcode; });
    return found == std::end(kCommands) ? nullptr : found;
}

std::string hex(uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%#04llx", static_cast<unsigned long long>(value));
    return text;
}

// Returns how many bytes an erase command erases, and its time. 0 bytes: the opcode is no erase
// command, or erases the whole chip.
std::pair<uint64_t, Time> erase_of(uint8_t opcode) {
    switch (opcode) {
        case numbers::kFlashOpcodeErase4kShort:
        case numbers::kFlashOpcodeErase4k: return {1 << 12, kErase4k};
        case numbers::kFlashOpcodeErase32kShort:
        case numbers::kFlashOpcodeErase32k: return {1 << 15, kErase32k};
        case numbers::kFlashOpcodeErase64kShort:
        case numbers::kFlashOpcodeErase64k: return {1 << 16, kErase64k};
        default: return {0, 0};
    }
}

}  // namespace

FlashChip::FlashChip(const FlashPart &part, uint64_t divisor, uint64_t seed)
    : part_(part),
      divisor_(divisor),
      random_(seed * 2 + 1),
      memory_(part.size),
      data_(kPage, 0xff) {}

// --- Pins ----------------------------------------------------------------------------------------

bool FlashChip::pins(bool cs_n, bool sck, bool mosi, Time now) {
    settle(now);
    if (cs_n) {
        if (selected_) {
            execute(now);
            deselected_at_ = now;
        }
        selected_ = pairs_ = false;
        out_ = true;
    } else if (!selected_) {
        select(now);
        if (sck) breach("selected while SCK is high: mode 0 has it low");
    } else if (sck && !clock_) {
        rise(mosi);
    } else if (clock_ && !sck) {
        fall(now);
    }
    clock_ = sck;
    return out_;
}

void FlashChip::select(Time now) {
    if (deselected_at_ && now - *deselected_at_ < kDeselected)
        breach("CS# was high for less than 50 ns");
    selected_ = true;
    bits_ = 0;
    count_ = 0;
    header_.clear();
}

void FlashChip::rise(bool bit) {
    in_ = static_cast<uint8_t>(in_ << 1 | bit);
    bits_ += pairs_ ? 2 : 1;
    if (bits_ % 8 == 0) take(in_);
}

void FlashChip::fall(Time now) {
    if (bits_ % 8 == 0) shown_ = answer(now);
    out_ = shown_ >> (7 - bits_ % 8) & 1;
    pairs_ = sends_pairs();
    if (pairs_) low_ = shown_ >> (6 - bits_ % 8) & 1;
}

// Returns true from the falling edge after the last dummy bit on.
bool FlashChip::sends_pairs() const {
    const Entry *entry = header_.empty() ? nullptr : find(header_[0]);
    return entry && entry->pairs && count_ >= 1 + address_bytes(entry->opcode) + entry->dummies;
}

void FlashChip::take(uint8_t byte) {
    if (header_.size() < kHeader) header_.push_back(byte);
    unsigned before = 1 + address_bytes(header_[0]);
    if (count_ == before) std::fill(data_.begin(), data_.end(), 0xff);
    if (count_ >= before && before > 1) data_[(address() + count_ - before) % kPage] = byte;
    count_++;
}

unsigned FlashChip::address_bytes(uint8_t opcode) const {
    const Entry *entry = find(opcode);
    if (!entry || entry->form == Form::None) return 0;
    return entry->form == Form::Four || (four_bytes_ && opcode != numbers::kFlashOpcodeDiscover)
               ? 4
               : 3;
}

// Returns the address of the command. The chip ignores address bits that it does not have.
uint64_t FlashChip::address() const {
    unsigned bytes = address_bytes(header_[0]);
    uint64_t value = bytes == 3 ? extended_ : 0;
    for (unsigned i = 1; i <= bytes; i++) value = value << 8 | header_[i];
    return value % part_.size;
}

// --- Answers -------------------------------------------------------------------------------------

// Returns the byte that the chip sends after it has got count_ bytes of a command.
uint8_t FlashChip::answer(Time now) {
    const Entry *entry = header_.empty() ? nullptr : find(header_[0]);
    if (!entry || !entry->reads || asleep_) return 0xff;
    unsigned before = 1 + address_bytes(entry->opcode) + entry->dummies;
    if (count_ < before) return 0xff;
    if (entry->form == Form::None) return register_answer(now);
    if (busy(now)) {
        if (count_ == before) breach("command " + hex(entry->opcode) + " while busy");
        return 0xff;
    }
    if (entry->opcode == numbers::kFlashOpcodeDiscover)
        return 0xff;  // The discovery table is left out.
    return memory_.read((address() + count_ - before) % part_.size);
}

uint8_t FlashChip::register_answer(Time now) const {
    bool running = running_.work != Work::None && now < running_.end;
    uint64_t index = count_ - 1;
    switch (header_[0]) {
        case numbers::kFlashOpcodeReadStatus:
            return static_cast<uint8_t>(running | write_enabled_ << 1);
        case numbers::kFlashOpcodeReadFlags:
            return part_.flag_status ? (running ? 0 : kReady) | flags_ | four_bytes_ : 0xff;
        case numbers::kFlashOpcodeIdentifyToo:
        case numbers::kFlashOpcodeIdentify: {
            if (running) return 0xff;
            if (index < 3) return part_.identification >> (8 * (2 - index)) & 0xff;
            return index == 3 ? 0x10 : 0;
        }
        case numbers::kFlashOpcodeReadExtended: return extended_;
        case numbers::kFlashOpcodeReadNonvolatile: return 0xff;
        default: return 0xfb;
    }
}

// --- Commands ------------------------------------------------------------------------------------

void FlashChip::breach(const std::string &what) {
    if (broken_.size() < 100) broken_.push_back(what);
}

// Executes the command when CS# rises, if it has a whole number of bytes.
void FlashChip::execute(Time now) {
    if (bits_ % 8 || header_.empty()) return;
    uint8_t opcode = header_[0];
    const Entry *entry = find(opcode);
    bool was_reset_enabled =
        std::exchange(reset_enabled_, opcode == numbers::kFlashOpcodeEnableReset);
    if (!entry) return breach("command " + hex(opcode) + " is unknown");
    if (entry->reads) return;
    if (opcode == numbers::kFlashOpcodeReset) {
        if (was_reset_enabled) lose_power(now);
        return;
    }
    if (busy(now)) return breach("command " + hex(opcode) + " while busy");
    if (asleep_ && opcode != numbers::kFlashOpcodeWake)
        return breach("command " + hex(opcode) + " in power-down");
    bool changes = entry->form != Form::None || opcode == numbers::kFlashOpcodeEraseAll ||
                   opcode == numbers::kFlashOpcodeEraseAllToo || opcode == kWriteStatus ||
                   opcode == kWriteNonvolatile || opcode == kWriteExtended ||
                   opcode == kWriteVolatile;
    if (!changes) return execute_volatile(opcode);
    if (!write_enabled_) return breach("command " + hex(opcode) + " without write enable");
    write_enabled_ = false;
    if (count_ < 1 + address_bytes(opcode)) return;
    auto [bytes, duration] = erase_of(opcode);
    if (opcode == numbers::kFlashOpcodeProgramShort || opcode == numbers::kFlashOpcodeProgram)
        return program(now);
    if (bytes) return begin(Work::Erase, bytes, duration, now);
    if (opcode == numbers::kFlashOpcodeEraseAll || opcode == numbers::kFlashOpcodeEraseAllToo)
        return begin(Work::Erase, part_.size, kEraseAll, now);
    if (opcode == kWriteExtended && header_.size() > 1) extended_ = header_[1];
    if (opcode == kWriteStatus || opcode == kWriteNonvolatile)
        begin(Work::Status, 0, kStatusTime, now);
}

void FlashChip::execute_volatile(uint8_t opcode) {
    switch (opcode) {
        case numbers::kFlashOpcodeWriteEnable: write_enabled_ = true; break;
        case numbers::kFlashOpcodeWriteDisable: write_enabled_ = false; break;
        case numbers::kFlashOpcodeClearFlags: flags_ = 0; break;
        case kFourBytes: four_bytes_ = true; break;
        case kThreeBytes: four_bytes_ = false; break;
        case kSleep: asleep_ = true; break;
        case numbers::kFlashOpcodeWake: asleep_ = false; break;
        default: break;
    }
}

void FlashChip::begin(Work work, uint64_t bytes, Time duration, Time now) {
    uint64_t at = work == Work::Erase && bytes < part_.size ? address() & ~(bytes - 1) : 0;
    running_ = {work, at, bytes, {}, now, now + duration / divisor_};
    if (protected_) flags_ |= kProtectionFailed;
}

void FlashChip::program(Time now) {
    if (count_ == 1u + address_bytes(header_[0])) return;
    uint64_t page = address() & ~(kPage - 1);
    begin(Work::Program, kPage, kProgramTime, now);
    running_.address = page;
    running_.page = data_;
}

// --- Erasing and programming ---------------------------------------------------------------------

bool FlashChip::busy(Time now) {
    settle(now);
    return running_.work != Work::None;
}

void FlashChip::settle(Time now) {
    if (running_.work != Work::None && now >= running_.end) finish(1);
}

// Ends the running erase or program. `done` is the fraction of its time that has passed: 1 if it
// was not cut off.
void FlashChip::finish(double done) {
    if (running_.work == Work::Erase) erased_.push_back(running_.address);
    if (!protected_ && running_.work == Work::Program) finish_program(done);
    if (!protected_ && running_.work == Work::Erase) finish_erase(done);
    running_ = {};
    memory_.flush();
}

bool FlashChip::happens(double chance) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<double>(random_ >> 11) < chance * static_cast<double>(uint64_t{1} << 53);
}

void FlashChip::finish_program(double done) {
    for (uint64_t i = 0; i < kPage; i++) {
        uint8_t old = memory_.read(running_.address + i), clear = old & ~running_.page[i];
        if (done < 1)
            for (unsigned bit = 0; bit < 8; bit++)
                if (!happens(done)) clear &= static_cast<uint8_t>(~(1u << bit));
        memory_.write(running_.address + i, old & ~clear);
    }
}

// If an erase is cut off in its first part, it has cleared some bits of the sector and left the
// others. If it is cut off in its second part, it has set some bits, and all others are 0.
void FlashChip::finish_erase(double done) {
    for (uint64_t at = running_.address; at < running_.address + running_.bytes; at++) {
        uint8_t value = 0xff;
        if (done < 1) {
            bool early = done < kPreprogram;
            double chance = early ? done / kPreprogram : (done - kPreprogram) / (1 - kPreprogram);
            uint8_t hit = 0;
            for (unsigned bit = 0; bit < 8; bit++)
                hit = static_cast<uint8_t>(hit << 1 | happens(chance));
            value = early ? memory_.read(at) & ~hit : hit;
        }
        memory_.write(at, value);
    }
}

void FlashChip::lose_power(Time now) {
    settle(now);
    if (running_.work != Work::None && running_.end > running_.start)
        finish(static_cast<double>(now - running_.start) /
               static_cast<double>(running_.end - running_.start));
    reset();
}

void FlashChip::reset() {
    running_ = {};
    selected_ = clock_ = pairs_ = write_enabled_ = four_bytes_ = reset_enabled_ = asleep_ = false;
    out_ = true;
    extended_ = flags_ = 0;
    bits_ = 0;
    header_.clear();
}

}  // namespace lanebox
