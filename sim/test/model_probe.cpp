// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The hard block and root complex without a gateware: commands on stdin are what the user drives at
// the pins or the CPU does, lines on stdout are what the user sees and the host memory receives.
//
//   config OFFSET BYTES VALUE        write configuration space
//   rq LAST KEEP FIRST_BE LAST_BE D0 .. D7    one beat, held until taken; cc LAST KEEP D0 .. D7
//   msi                              one cycle of cfg_interrupt_msi_int
//   read OFFSET BYTES                a host access to BAR0; write OFFSET BYTES VALUE
//   hold, take                       the user stops, goes on taking RC
//   run CYCLES
//   link KIND PAYLOAD MPS GAP_NS     payload rate of one saturated direction, in GB/s
//
// Numbers are hexadecimal but for run and link. Host memory is 64 KiB at 0x100000000, byte i holds
// i & 0xff. Rules are counted (warn) and printed at the end.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <sstream>

#include "pcie4/hard_block.hpp"

using namespace lanebox;

namespace {

class Memory : public Host {
public:
    Memory() { std::iota(bytes_.begin(), bytes_.end(), uint8_t{0}); }
    bool memory_read(uint64_t address, void *data, size_t bytes) override {
        if (!mapped(address, bytes)) return false;
        std::copy_n(bytes_.begin() + static_cast<long>(address - kBase), bytes,
                    static_cast<uint8_t *>(data));
        return true;
    }
    bool memory_write(uint64_t address, const void *data, size_t bytes) override {
        for (size_t i = 0; i < bytes; i++)
            printf("stored %llx %02x\n", static_cast<unsigned long long>(address + i),
                   static_cast<const uint8_t *>(data)[i]);
        return mapped(address, bytes);
    }
    bool interrupt() override {
        printf("interrupt\n");
        return true;
    }

private:
    static constexpr uint64_t kBase = uint64_t{1} << 32;
    bool mapped(uint64_t address, size_t bytes) const {
        return address >= kBase && address - kBase + bytes <= bytes_.size();
    }
    std::array<uint8_t, 65536> bytes_;
};

class Bench {
public:
    void command(const std::string &line);
    void report() const;

private:
    PinsIn idle() const;
    void step(const PinsIn &in);
    void offer(PinsIn in);
    void print(const char *name, const Beat &beat, uint32_t byte_en, unsigned enables) const;

    Memory memory_;
    ConfigSpace config_{{512, 512, 64, 0x20000}};
    Rules rules_{Rules::Mode::Warn};
    Faults faults_;
    TlpLog log_{""};
    RootComplex root_{memory_, config_, rules_, faults_};
    HardBlock block_{root_, config_, rules_, log_, {}};
    Time now_ = 0;
    PinsOut out_;
    bool rc_ready_ = true;
};

PinsIn Bench::idle() const {
    PinsIn in;
    in.cq_ready = true;
    in.rc_ready = rc_ready_;
    in.np_req = 1;
    return in;
}

void Bench::step(const PinsIn &in) {
    block_.step(now_, in, out_);
    now_ += kCycle;
    if (out_.cq.valid)
        print("cq", out_.cq, out_.cq_byte_en, out_.cq_first_be | out_.cq_last_be << 4);
    if (out_.rc.valid && rc_ready_) print("rc", out_.rc, out_.rc_byte_en, 0);
}

void Bench::offer(PinsIn in) {
    bool taken;
    do {
        taken = in.rq.valid ? out_.rq_ready : out_.cc_ready;
        step(in);
    } while (!taken);
}

void Bench::print(const char *name, const Beat &beat, uint32_t byte_en, unsigned enables) const {
    printf("%s %x %02x %08x %02x", name, beat.last, beat.keep, byte_en, enables);
    for (uint32_t dword : beat.data) printf(" %08x", dword);
    printf("\n");
}

void Bench::report() const {
    for (unsigned i = 0; i < static_cast<unsigned>(Rule::kCount); i++)
        if (rules_.count(static_cast<Rule>(i)))
            printf("broken %s\n", rule_name(static_cast<Rule>(i)));
}

void Bench::command(const std::string &line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb >> std::hex;
    auto next = [&words] {
        uint64_t value = 0;
        words >> value;
        return value;
    };
    auto beat = [&next](Beat &to) {
        to.valid = true;
        to.last = next();
        to.keep = static_cast<uint8_t>(next());
    };
    PinsIn in = idle();
    if (verb == "config") {
        unsigned offset = static_cast<unsigned>(next()), bytes = static_cast<unsigned>(next());
        uint64_t value = next();
        config_.write(offset, &value, bytes);
        root_.configure();
    } else if (verb == "rq") {
        beat(in.rq);
        in.rq_first_be = static_cast<uint8_t>(next());
        in.rq_last_be = static_cast<uint8_t>(next());
        for (uint32_t &dword : in.rq.data) dword = static_cast<uint32_t>(next());
        offer(in);
    } else if (verb == "cc") {
        beat(in.cc);
        for (uint32_t &dword : in.cc.data) dword = static_cast<uint32_t>(next());
        offer(in);
    } else if (verb == "hold" || verb == "take") {
        rc_ready_ = verb == "take";
    } else if (verb == "msi") {
        in.msi_int = 1;
        step(in);
    } else if (verb == "read") {
        uint64_t offset = next();
        unsigned bytes = static_cast<unsigned>(next());
        root_.mmio_read(offset, bytes, [bytes](const uint8_t *data, bool ok) {
            printf("answer %d ", ok);
            for (unsigned i = bytes; i-- > 0;) printf("%02x", data[i]);
            printf("\n");
        });
    } else if (verb == "write") {
        uint64_t offset = next();
        unsigned bytes = static_cast<unsigned>(next());
        uint64_t value = next();
        root_.mmio_write(offset, &value, bytes);
    } else {
        words >> std::dec;
        for (uint64_t cycles = next(); cycles; cycles--) step(in);
    }
}

double link_rate(const std::string &kind, unsigned payload, unsigned mps, Time gap) {
    Tlp tlp;
    tlp.address = uint64_t{1} << 32;
    tlp.type = kind == "write" ? TlpType::MemWrite : TlpType::Completion;
    tlp.payload.assign(payload / 4, 0);
    constexpr unsigned kCount = 200'000;
    LinkDirection link;
    link.set_mps(mps);
    Time at = 0;
    for (unsigned i = 0; i < kCount; i++) at = link.send(gap ? at + gap * kNanosecond : 0, tlp);
    return static_cast<double>(kCount) * payload / (static_cast<double>(at) / kNanosecond);
}

}  // namespace

int main() {
    Bench bench;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string verb, kind;
        unsigned payload, mps;
        Time gap;
        if (words >> verb && verb == "link" && words >> kind >> payload >> mps >> gap)
            printf("%.6f\n", link_rate(kind, payload, mps, gap));
        else
            bench.command(line);
    }
    bench.report();
}
