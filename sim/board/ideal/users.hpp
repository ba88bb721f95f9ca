// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Ideal user logic, which no gateware can outdo: it offers a beat in every cycle, takes every beat
// at once, and answers a request in the next cycle. It checks payloads; a wrong dword throws.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "block/hard_block.hpp"
#include "link/numbers.hpp"

namespace lanebox {

// Returns the contents of the dword at `address`, both in host memory and on the card.
inline uint32_t pattern(uint64_t address) {
    return static_cast<uint32_t>(address / 4 * 2654435761u);
}

// Requests go to addresses from 4 GiB on, so that their headers have 4 dwords.
constexpr uint64_t kAbove4G = uint64_t{1} << 32;
// Addresses walk through a buffer of 1 MiB. At its end they begin again.
constexpr uint64_t kBufferBytes = 1 << 20;

class User {
public:
    virtual ~User() = default;
    // Called before a clock edge: the host issues its requests to the card.
    virtual void host(RootComplex &) {}
    // Called at the clock edge: the user logic sees the outputs `out` of the hard block and drives
    // its inputs `in`.
    virtual void drive(const PinsOut &out, PinsIn &in) = 0;
};

// Ideal user logic for RQ: sends writes of `bytes` bytes without end.
class C2hUser : public User {
public:
    explicit C2hUser(unsigned bytes) : bytes_(bytes) {}
    void drive(const PinsOut &out, PinsIn &in) override;

private:
    unsigned bytes_;
    uint64_t written_ = 0;
    BeatSource rq_;
};

// Ideal user logic for RC: keeps `reads` reads of kReadBytes in flight, and takes each completion
// as it comes.
class H2cUser : public User {
public:
    static constexpr unsigned kReadBytes = numbers::kLargestPayload;
    H2cUser(unsigned reads, bool straddle);
    void drive(const PinsOut &out, PinsIn &in) override;

private:
    void request(const PinsOut &out, PinsIn &in);
    void take_beat(const PinsOut &out);
    void take_straddled(const PinsOut &out);
    void append(const PinsOut &out, unsigned from, unsigned to);
    void finish_packet();

    bool straddle_;
    std::deque<uint8_t> free_tags_;
    // The address of the data that each outstanding read gets next, by tag.
    std::array<uint64_t, numbers::kReadTags> next_address_{};
    uint64_t asked_ = 0;
    BeatSource rq_;
    std::vector<uint32_t> packet_;
};

// Ideal user logic for CC: answers at once the reads of `bytes` bytes by a requester behind the
// root complex.
class Answerer : public User {
public:
    Answerer(RootComplex &root, unsigned bytes);
    void host(RootComplex &root) override;
    void drive(const PinsOut &out, PinsIn &in) override;

private:
    void check(const Tlp &completion);

    unsigned bytes_;
    std::deque<uint8_t> free_tags_;
    uint64_t asked_ = 0;
    std::array<uint64_t, numbers::kReadTags> address_{};
    std::deque<std::vector<uint32_t>> answers_;
    BeatSource cc_;
};

// Ideal user logic for CQ: takes writes of `bytes` bytes by the host as they come.
class Target : public User {
public:
    explicit Target(unsigned bytes) : bytes_(bytes) {}
    void host(RootComplex &root) override;
    void drive(const PinsOut &out, PinsIn &in) override;

private:
    unsigned bytes_;
    uint64_t sent_ = 0, taken_ = 0;
    BeatSink cq_;
};

}  // namespace lanebox
