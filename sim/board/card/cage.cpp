// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "card/cage.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "link/units.hpp"
#include "text/words.hpp"

namespace lanebox {

namespace {

constexpr unsigned kPages = 256, kDevice = 0x50, kPageSelect = 127;
constexpr unsigned kLongestWrite = 4;   // the most bytes of one write (SFF-8636)
constexpr unsigned kWritableFrom = 86;  // the first byte of lower memory that can be written
constexpr unsigned kPagesFrom = 0x02;   // upper page 02 is the user's, so it can be written
constexpr unsigned kStatus = 2, kReady = 1, kInterrupt = 2, kFlagsFrom = 3, kFlagsTo = 14;
constexpr uint64_t kMicrosecond = 1000 * kNanosecond / kCycle;
constexpr uint64_t kSelectTime = 2000 * kMicrosecond, kResetTime = 2000 * kMicrosecond;

}  // namespace

std::vector<uint8_t> read_module(const std::string &path) {
    if (path == "none") return {};
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::invalid_argument("cannot be read");
    std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.size() < 256 || bytes.size() % 128 || bytes.size() > (kPages + 1) * 128)
        throw std::invalid_argument(
            "must have 128 bytes of lower memory and 1 to 256 upper pages of 128, but has " +
            std::to_string(bytes.size()) + " bytes");
    return bytes;
}

void set_cage_fault(CageContents &contents, const std::string &text) {
    using Fault = CageContents::Fault;
    constexpr unsigned kMost = 1'000'000;
    std::vector<std::string> parts = parts_of(text);
    std::optional<uint64_t> amount = parts.size() == 2 ? number(parts[1]) : std::nullopt;
    if (text == "none")
        contents.fault = Fault::None;
    else if (text == "silent")
        contents.fault = Fault::Silent;
    else if (text == "clock-held")
        contents.fault = Fault::ClockHeld;
    else if (amount && *amount <= kMost && (parts[0] == "stuck" || parts[0] == "stretch"))
        contents.fault = parts[0] == "stuck" ? Fault::Stuck : Fault::Stretch;
    else
        throw std::invalid_argument(
            "must be none, silent, clock-held, stuck:CLOCKS or stretch:US, at most 1000000");
    contents.amount = amount ? static_cast<unsigned>(*amount) : 0;
}

void Cage::set(const CageContents &contents) {
    contents_ = contents;
    stuck_ = contents.fault == CageContents::Fault::Stuck ? contents.amount : 0;
    begin(false);
}

bool Cage::listens() const {
    return present() && contents_.fault != CageContents::Fault::Silent && !lines_.select_n &&
           lines_.reset_n && now_ >= selected_at_ + kSelectTime && now_ >= ready_at_;
}

// Returns true if a flag of the lower memory is set. The module then pulls IntL.
bool Cage::flagged() const {
    for (unsigned i = kFlagsFrom; i <= kFlagsTo; i++)
        if (contents_.memory[i]) return true;
    return false;
}

uint8_t Cage::peek() const {
    if (address_ >= kHalf) {
        size_t at = (size_t{contents_.memory[kPageSelect]} + 1) * kHalf + address_ - kHalf;
        return at < contents_.memory.size() ? contents_.memory[at] : 0;
    }
    if (address_ == kStatus) {
        uint8_t others = contents_.memory[kStatus] & static_cast<uint8_t>(~(kInterrupt | kReady));
        return static_cast<uint8_t>(others | (flagged() ? 0 : kInterrupt));
    }
    return contents_.memory[address_];
}

// Stores a written byte. A byte that cannot be written keeps its value, as in a module.
void Cage::poke(uint8_t value) {
    size_t page = contents_.memory[kPageSelect];
    size_t upper = (page + 1) * kHalf + address_ - kHalf;
    if (address_ < kHalf && address_ >= kWritableFrom)
        contents_.memory[address_] = value;
    else if (address_ >= kHalf && page == kPagesFrom && upper < contents_.memory.size())
        contents_.memory[upper] = value;
}

// The card has made a start or a stop condition on I2C.
void Cage::begin(bool started) {
    state_ = started && listens() ? State::Device : State::Idle;
    bits_ = written_ = 0;
    acknowledges_ = sda_low_ = false;
}

// The eight bits of a byte have crossed I2C. The acknowledgement is next.
void Cage::byte_came() {
    acknowledges_ = state_ != State::Read;
    switch (state_) {
        case State::Device:
            if (shift_ >> 1 != kDevice) return begin(false);
            state_ = shift_ & 1 ? State::Read : State::Address;
            break;
        case State::Address:
            address_ = shift_;
            state_ = State::Write;
            break;
        case State::Write:
            acknowledges_ = ++written_ <= kLongestWrite;
            if (acknowledges_) poke(shift_), advance();
            break;
        default: break;
    }
}

void Cage::clock_rises(bool sda) {
    if (state_ == State::Idle) return;
    if (bits_ == 8) {
        refused_ = sda;
    } else {
        shift_ = static_cast<uint8_t>(shift_ << 1 | sda);
    }
    bits_++;
}

void Cage::clock_falls() {
    if (stuck_) stuck_--;
    if (state_ == State::Idle) return;
    bool was_reading = state_ == State::Read;
    if (bits_ == 8) {
        byte_came();
        sda_low_ = acknowledges_;
        return;
    }
    if (bits_ == 9) {
        bits_ = 0;
        if (was_reading && !acknowledges_ && refused_) return begin(false);
        if (contents_.fault == CageContents::Fault::Stretch)
            stretched_until_ = now_ + contents_.amount * kMicrosecond;
        if (was_reading) {
            shift_ = peek();
            advance();
        }
    }
    sda_low_ = was_reading && !(shift_ >> 7 & 1);
}

Cage::Pins Cage::step(const Lines &lines, uint64_t now) {
    // The gateware was loaded anew, so its count of cycles begins at 0 again.
    if (now < now_) selected_at_ = ready_at_ = stretched_until_ = 0;
    now_ = now;
    if (lines_.select_n && !lines.select_n) selected_at_ = now;
    if (!lines_.reset_n && lines.reset_n) ready_at_ = now + kResetTime;
    lines_ = lines;
    if (!lines.reset_n || lines.select_n) begin(false);
    bool held = present() && contents_.fault == CageContents::Fault::ClockHeld;
    bool scl = !lines.scl_low && !held && now >= stretched_until_;
    bool sda = !lines.sda_low && !sda_low_ && !(present() && stuck_);
    if (scl_ && scl && sda_ != sda) begin(!sda);
    if (!scl_ && scl) clock_rises(sda);
    if (scl_ && !scl) clock_falls();
    scl_ = !lines.scl_low && !held && now >= stretched_until_;
    sda_ = !lines.sda_low && !sda_low_ && !(present() && stuck_);
    auto wake = now < stretched_until_ ? static_cast<unsigned>(stretched_until_ - now) : 0;
    return {scl_, sda_, !present(), !(present() && flagged()), wake};
}

}  // namespace lanebox
