// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A test program for the simulation's root complex alone: no hard block and no gateware are linked.
// Each line on stdin is a command: a TLP that the card sends, or a setting of the host. Each line
// on stdout is a TLP that arrives at the card, or a write that host memory stores, with its time in
// ns.
//
//   latency SPEC, miss SPEC, stall SPEC, split NAME, size BYTES, reorder 0|1, seed N, fault SPEC
//                                        settings of the host, written as the board's options are
//   config OFFSET BYTES VALUE            write configuration space
//   mrd ADDRESS DWORDS TAG FIRST_BE LAST_BE       a memory read leaves the card's pins now
//   mwr ADDRESS DWORDS ATTRIBUTES        a memory write leaves the card's pins now; a line `stored`
//                                        is printed when host memory has it
//   host OFFSET [BYTES]                  the host's CPU reads BYTES bytes of BAR0 (default: 4)
//   cpl TAG BYTE_COUNT DWORD             the card answers a read that `host` started
//   peer read|write OFFSET SIZE COUNT TAGS GAP_NS      another PCIe device accesses the card's BAR0
//   pcpl TAG LOW BYTE_COUNT DWORDS OFFSET         the card answers a read of that other device. Its
//                                        data is what the device expects at OFFSET.
//   peer-stats                           print the counters of that other device
//   reset                                a reset of the card and its link
//   flr                                  a function level reset of the card, whose link stays up
//   keep 0|1                             1: requests stay in the card's receive buffer from now on
//   full                                 print whether the transmit buffer is full
//   run NS                               let time pass in steps of 4 ns
//
// Addresses, BAR offsets, byte enables and all numbers of `config` are hexadecimal. Byte i of host
// memory reads as i & 0xff.
#include <cstdio>
#include <iostream>
#include <sstream>

#include "block/transmit_buffer.hpp"
#include "host/peer.hpp"

using namespace lanebox;

namespace {

class Memory : public Host {
public:
    explicit Memory(const Time &now) : now_(now) {}
    bool memory_read(uint64_t address, void *data, size_t bytes) override {
        for (size_t i = 0; i < bytes; i++)
            static_cast<uint8_t *>(data)[i] = static_cast<uint8_t>(address + i);
        return true;
    }
    bool memory_write(uint64_t address, const void *, size_t bytes) override {
        printf("stored %llu %llx %zu\n", static_cast<unsigned long long>(now_ / kNanosecond),
               static_cast<unsigned long long>(address), bytes);
        return true;
    }
    bool interrupt() override { return true; }

private:
    const Time &now_;
};

class Bench {
public:
    void command(const std::string &line);

private:
    void setting(const std::string &verb, std::istringstream &words);
    void card(const std::string &verb, std::istringstream &words);
    void run(Time nanoseconds);
    void print(const Tlp &tlp) const;
    void print_request(const Tlp &tlp) const;
    void peer(const std::string &verb, std::istringstream &words);

    Time now_ = 0;
    bool keep_ = false;
    Memory memory_{now_};
    ConfigSpace config_{{512, 512, 64, 0x20000}};
    Rules rules_{Rules::Mode::Fatal};
    Faults faults_;
    RootComplex root_{memory_, config_, rules_, faults_};
    TransmitBuffer transmit_{root_.link};
    Peer peer_{root_, config_, rules_};
};

void Bench::print(const Tlp &tlp) const {
    printf("completion %llu %u %llu %u %u %u %u %u %u ",
           static_cast<unsigned long long>(now_ / kNanosecond), tlp.tag,
           static_cast<unsigned long long>(tlp.address), tlp.dwords, tlp.byte_count, tlp.status,
           tlp.rc_error, tlp.poisoned, tlp.request_done);
    for (uint32_t dword : tlp.payload) printf("%08x", dword);
    printf("-\n");
}

void Bench::print_request(const Tlp &tlp) const {
    printf("request %llu %d %llx %u %u ", static_cast<unsigned long long>(now_ / kNanosecond),
           tlp.type == TlpType::MemWrite, static_cast<unsigned long long>(tlp.address), tlp.dwords,
           tlp.tag);
    for (uint32_t dword : tlp.payload) printf("%08x", dword);
    printf("-\n");
}

void Bench::run(Time nanoseconds) {
    for (Time end = now_ + nanoseconds * kNanosecond; now_ < end; now_ += kCycle) {
        peer_.run(now_);
        transmit_.run(now_);
        root_.run(now_);
        while (root_.link.completion_at_card()) print(root_.link.take_completion());
        while (!keep_ && root_.link.request_at_card(true))
            print_request(root_.link.take_request(true));
    }
}

void Bench::setting(const std::string &verb, std::istringstream &words) {
    std::string value;
    words >> value;
    if (verb == "latency") root_.timing.read_latency = Latency::parse(value);
    if (verb == "miss") root_.timing.iommu_miss = Chance::parse(value, 1'000'000);
    if (verb == "stall") root_.timing.write_stall = Chance::parse(value, 500'000);
    if (verb == "size") root_.timing.completion_size = static_cast<unsigned>(std::stoul(value));
    if (verb == "reorder") root_.timing.reorder = value == "1";
    if (verb == "keep") keep_ = value == "1";
    if (verb == "seed") root_.seed(std::stoull(value));
    if (verb == "fault") faults_.arm(value);
    if (verb == "split")
        root_.timing.split = value == "rcb"      ? Split::Rcb
                             : value == "mps"    ? Split::Mps
                             : value == "random" ? Split::Random
                                                 : Split::Size;
}

void Bench::card(const std::string &verb, std::istringstream &words) {
    Tlp tlp;
    unsigned tag = 0, first = 0xf, last = 0xf, attributes = 0, dword = 0;
    if (verb == "cpl") {
        words >> tag >> tlp.byte_count >> dword;
        tlp.type = TlpType::Completion;
        tlp.dwords = 1;
        tlp.requester = kProcessorId;
        tlp.payload = {dword};
    } else {
        words >> std::hex >> tlp.address >> std::dec >> tlp.dwords;
        words >> (verb == "mrd" ? tag : attributes) >> std::hex >> first >> last;
        tlp.type = verb == "mrd" ? TlpType::MemRead : TlpType::MemWrite;
        if (!words) first = 0xf, last = tlp.dwords > 1 ? 0xf : 0;
        if (verb == "mwr") tlp.payload.assign(tlp.dwords, 0);
    }
    tlp.tag = static_cast<uint8_t>(tag);
    tlp.first_be = static_cast<uint8_t>(first);
    tlp.last_be = static_cast<uint8_t>(last);
    tlp.attributes = static_cast<uint8_t>(attributes);
    tlp.pins_at = now_;
    transmit_.push(std::move(tlp));
}

void Bench::peer(const std::string &verb, std::istringstream &words) {
    if (verb == "peer") {
        std::string kind;
        Peer::Job job;
        Time gap = 0;
        words >> kind >> std::hex >> job.offset >> std::dec >> job.size >> job.count >> job.tags;
        words >> gap;
        job.gap = gap * kNanosecond;
        job.write = kind == "write";
        peer_.start(job);
    } else if (verb == "pcpl") {
        Tlp tlp;
        unsigned tag, offset;
        words >> tag >> tlp.address >> tlp.byte_count >> tlp.dwords >> std::hex >> offset;
        tlp.type = TlpType::Completion;
        tlp.tag = static_cast<uint8_t>(tag);
        tlp.requester = kPeerId;
        for (unsigned i = 0; i < tlp.dwords; i++)
            tlp.payload.push_back(peer_pattern(offset + 4 * i));
        tlp.pins_at = now_;
        transmit_.push(std::move(tlp));
    } else {
        const Peer::Counters &c = peer_.counters();
        for (uint64_t value : {c.issued, c.completed, c.bytes, c.errors, c.timeouts, c.mismatches,
                               (c.last - c.first) / kCycle, uint64_t{!peer_.idle()}})
            printf("peer %llu\n", static_cast<unsigned long long>(value));
    }
}

void Bench::command(const std::string &line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "run") {
        Time nanoseconds;
        words >> nanoseconds;
        run(nanoseconds);
    } else if (verb == "mrd" || verb == "mwr" || verb == "cpl") {
        card(verb, words);
    } else if (verb == "peer" || verb == "pcpl" || verb == "peer-stats") {
        peer(verb, words);
    } else if (verb == "host") {
        uint64_t offset;
        unsigned bytes;
        words >> std::hex >> offset;
        if (!(words >> std::dec >> bytes)) bytes = 4;
        root_.cpu.read(0, offset, bytes, [this](const uint8_t *, bool ok) {
            printf("answer %llu %d\n", static_cast<unsigned long long>(now_ / kNanosecond), ok);
        });
    } else if (verb == "config") {
        unsigned offset, bytes, value;
        words >> std::hex >> offset >> bytes >> value;
        config_.write(offset, &value, bytes);
        root_.configure();
    } else if (verb == "reset") {
        root_.reset();
    } else if (verb == "flr") {
        root_.function_reset();
    } else if (verb == "full") {
        printf("full %d\n", transmit_.full(now_, true));
    } else {
        setting(verb, words);
    }
}

}  // namespace

int main() {
    Bench bench;
    try {
        for (std::string line; std::getline(std::cin, line);) bench.command(line);
    } catch (const std::exception &error) {
        fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
