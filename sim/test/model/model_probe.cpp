// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A test program for the simulation's hard block and root complex, without a gateware. Each line on
// stdin is a command: what user logic drives at the hard block's pins, or an access by the host's
// CPU. Lines on stdout are what user logic sees at the pins, and what host memory receives.
//
//   config OFFSET BYTES VALUE        write configuration space
//   rq LAST KEEP FIRST_BE LAST_BE D0 .. D7    offer one RQ beat until the block takes it
//   cc LAST KEEP D0 .. D7            offer one CC beat until the block takes it
//   msi                              assert cfg_interrupt_msi_int for one cycle
//   read OFFSET BYTES                the CPU reads BAR0
//   write OFFSET BYTES VALUE         the CPU writes BAR0
//   offer LAST KEEP FIRST_BE LAST_BE D0 .. D7    offer one RQ beat for one cycle, taken or not
//   seq NUMBER                       sequence number of the RQ packets that follow
//   hold                             user logic is not ready on RC from now on
//   take                             user logic is ready on RC again
//   grant 0|1                        drive pcie_cq_np_req with this value from now on
//   stall PERCENT                    share of the cycles in which the block is not ready
//   busy NS                          after each write the host accepts nothing for so long
//   state FC_SEL                     drive cfg_fc_sel, then print the tag and credit pins
//   run CYCLES                       let time pass
//   link KIND PAYLOAD MPS GAP_NS [GENERATION WIDTH]    print the payload rate of one saturated
//                                    link direction in GB/s, and in picoseconds: the time of one
//                                    TLP, what a wrong LCRC adds, the acknowledge latency limit
//
// With the argument `straddle` two completions may share a beat. Numbers are hexadecimal; those of
// run and link are decimal. Host memory is 64 KiB at 0x100000000, and its byte i holds i & 0xff. A
// broken rule does not end the program; the names of all broken rules are printed at its end.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <sstream>

#include "block/hard_block.hpp"

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
    explicit Bench(bool straddle) : block_{root_, config_, rules_, log_, settings(straddle)} {}
    void command(const std::string &line);
    void report() const;

private:
    static HardBlock::Settings settings(bool straddle);
    static uint64_t next(std::istringstream &words);
    bool drive(const std::string &verb, std::istringstream &words);
    bool set(const std::string &verb, std::istringstream &words);
    bool access(const std::string &verb, std::istringstream &words);
    PinsIn idle() const;
    void print_state() const;
    void step(const PinsIn &in);
    void offer(PinsIn in);
    void print(const char *name, const Beat &beat, uint32_t byte_en, unsigned enables) const;

    Memory memory_;
    ConfigSpace config_{{512, 512, 64, 0x20000}};
    Rules rules_{Rules::Mode::Warn};
    Faults faults_;
    TlpLog log_{""};
    RootComplex root_{memory_, config_, rules_, faults_};
    HardBlock block_;
    Time now_ = 0;
    PinsOut out_;
    bool rc_ready_ = true;
    uint8_t np_req_ = 1, seq_num_ = 0, fc_sel_ = 0;
};

HardBlock::Settings Bench::settings(bool straddle) {
    HardBlock::Settings settings;
    settings.straddle = straddle;
    return settings;
}

PinsIn Bench::idle() const {
    PinsIn in;
    in.cq_ready = true;
    in.rc_ready = rc_ready_;
    in.np_req = np_req_;
    in.rq_seq_num = seq_num_;
    in.fc_sel = fc_sel_;
    return in;
}

void Bench::step(const PinsIn &in) {
    if (out_.rc.valid && in.rc_ready)
        print("rc", out_.rc, out_.rc_byte_en, out_.rc_sof | out_.rc_eof0 << 2 | out_.rc_eof1 << 6);
    block_.step(now_, in, out_);
    now_ += kCycle;
    if (out_.cq.valid)
        print("cq", out_.cq, out_.cq_byte_en, out_.cq_first_be | out_.cq_last_be << 4);
    for (const SeqNum &number : out_.seq_num)
        if (number.valid) printf("seq %x\n", number.value);
}

void Bench::print_state() const {
    const FcPins &fc = out_.fc;
    printf("state tag_av %u nph_av %u npd_av %u np_req_count %u", out_.tag_av, out_.nph_av,
           out_.npd_av, out_.np_credits);
    printf(" ph %u pd %u nph %u npd %u cplh %u cpld %u\n", fc.ph, fc.pd, fc.nph, fc.npd, fc.cplh,
           fc.cpld);
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
    if (drive(verb, words) || set(verb, words) || access(verb, words)) return;
    words >> std::dec;
    for (uint64_t cycles = next(words); cycles; cycles--) step(idle());
}

uint64_t Bench::next(std::istringstream &words) {
    uint64_t value = 0;
    words >> value;
    return value;
}

// Carry out a command that drives the hard block's input pins for a cycle or more. Returns false if
// `verb` is no such command.
bool Bench::drive(const std::string &verb, std::istringstream &words) {
    PinsIn in = idle();
    if (verb == "msi") {
        in.msi_int = 1;
        step(in);
        return true;
    }
    bool request = verb == "rq" || verb == "offer";
    if (!request && verb != "cc") return false;
    Beat &beat = request ? in.rq : in.cc;
    beat.valid = true;
    beat.last = next(words);
    beat.keep = static_cast<uint8_t>(next(words));
    if (request) {
        in.rq_first_be = static_cast<uint8_t>(next(words));
        in.rq_last_be = static_cast<uint8_t>(next(words));
    }
    for (uint32_t &dword : beat.data) dword = static_cast<uint32_t>(next(words));
    verb == "offer" ? step(in) : offer(in);
    return true;
}

// Carry out a command that changes a setting of the probe, the hard block or the host. Returns
// false if `verb` is no such command.
bool Bench::set(const std::string &verb, std::istringstream &words) {
    if (verb == "hold" || verb == "take") {
        rc_ready_ = verb == "take";
    } else if (verb == "seq") {
        seq_num_ = static_cast<uint8_t>(next(words));
    } else if (verb == "grant") {
        np_req_ = static_cast<uint8_t>(next(words));
    } else if (verb == "stall") {
        block_.set_stall(static_cast<unsigned>(next(words)));
    } else if (verb == "busy") {
        root_.timing.write_stall = {100, next(words) * kNanosecond};
    } else if (verb == "state") {
        fc_sel_ = static_cast<uint8_t>(next(words));
        step(idle());
        print_state();
    } else {
        return false;
    }
    return true;
}

// Carry out a command that is an access of the host's CPU to the card. Returns false if `verb` is
// no such command.
bool Bench::access(const std::string &verb, std::istringstream &words) {
    if (verb != "config" && verb != "read" && verb != "write") return false;
    uint64_t offset = next(words);
    unsigned bytes = static_cast<unsigned>(next(words));
    uint64_t value = next(words);
    if (verb == "config") {
        config_.write(static_cast<unsigned>(offset), &value, bytes);
        root_.configure();
    } else if (verb == "read") {
        root_.cpu.read(0, offset, bytes, [bytes](const uint8_t *data, bool ok) {
            printf("answer %d ", ok);
            for (unsigned i = bytes; i-- > 0;) printf("%02x", data[i]);
            printf("\n");
        });
    } else {
        root_.cpu.write(0, offset, &value, bytes);
    }
    return true;
}

void link_rate(std::istringstream &words) {
    std::string kind;
    unsigned payload, mps;
    Time gap;
    words >> kind >> payload >> mps >> gap;
    LinkState state;
    words >> state.generation >> state.width;
    Tlp tlp;
    tlp.address = uint64_t{1} << 32;
    tlp.type = kind == "write"  ? TlpType::MemWrite
               : kind == "read" ? TlpType::MemRead
                                : TlpType::Completion;
    tlp.payload.assign(payload / 4, 0);
    constexpr unsigned kCount = 200'000;
    LinkDirection link;
    if (words) link.train(state);
    link.set_mps(mps);
    Time at = 0;
    for (unsigned i = 0; i < kCount; i++) at = link.send(gap ? at + gap * kNanosecond : 0, tlp);
    double rate = static_cast<double>(kCount) * payload / (static_cast<double>(at) / kNanosecond);
    LinkDirection corrupted = link;
    corrupted.corrupt_next();
    Time replay = corrupted.send(at, tlp) - link.send(at, tlp);
    auto picoseconds = [](Time time) {
        return static_cast<unsigned long long>(time * 1000 / kNanosecond);
    };
    printf("rate %.6f %llu %llu %llu\n", rate, picoseconds(link.duration(tlp)), picoseconds(replay),
           picoseconds(link.update_latency()));
}

}  // namespace

int main(int argc, char **argv) {
    Bench bench(argc > 1 && std::string(argv[1]) == "straddle");
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string verb;
        if (words >> verb && verb == "link")
            link_rate(words);
        else
            bench.command(line);
    }
    bench.report();
}
