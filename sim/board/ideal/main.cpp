// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Measures the rates that the model of hard block, link and root complex allows, with ideal user
// logic in place of a gateware, one stream at a time. Prints payload rates in device time as JSON,
// by stream and by bytes per TLP. A broken rule ends the program, since a rate that breaks a rule
// means nothing.
//
//   ideal [CYCLES]    each rate is measured for this many cycles after a warm-up (100000)
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>

#include "ideal/users.hpp"
#include "link/config_registers.hpp"
#include "link/numbers.hpp"
#include "machine/json.hpp"

namespace lanebox {

namespace {

// Cycles that run before a measurement begins. They are more than any buffer takes to fill.
constexpr unsigned kWarmUp = 20'000;
constexpr Time kReadLatency = 300 * kNanosecond;
// A read has at most one completion for each RCB of 64 bytes.
constexpr unsigned kHeadersPerRead = H2cUser::kReadBytes / 64;
// PG213: fewer than 64 completions may be in flight without straddle
constexpr unsigned kCompletionsInFlight = 63;

class Memory : public Host {
public:
    bool memory_read(uint64_t address, void *data, size_t bytes) override {
        auto *dwords = static_cast<uint32_t *>(data);
        for (size_t at = 0; at < bytes; at += 4) dwords[at / 4] = pattern(address + at);
        return true;
    }
    bool memory_write(uint64_t address, const void *data, size_t bytes) override {
        const auto *dwords = static_cast<const uint32_t *>(data);
        for (size_t at = 0; at < bytes; at += 4)
            if (dwords[at / 4] != pattern(address + at))
                throw std::runtime_error("wrong data at " + std::to_string(address + at));
        return true;
    }
    bool interrupt() override { return true; }
};

// The model of everything below the hard block's user pins, powered on and configured for `mps`.
struct Rig {
    Rig(unsigned mps, unsigned completion_bytes, bool straddle)
        : block(root, config, rules, log, settings(straddle)) {
        uint32_t command = 6, control = 0x2910 | (mps == 512 ? 2u : mps == 256 ? 1u : 0u) << 5;
        config.write(config_at::kCommand, &command, 2);
        config.write(config_at::kDeviceControl, &control, 2);
        root.configure();
        root.timing.read_latency = Latency(kReadLatency);
        root.timing.completion_size = completion_bytes;
    }
    static HardBlock::Settings settings(bool straddle) {
        HardBlock::Settings settings;
        settings.straddle = straddle;
        return settings;
    }
    void run(User &user, unsigned cycles) {
        for (; cycles; cycles--, now += kCycle) {
            user.host(root);
            PinsIn in;
            user.drive(out, in);
            block.step(now, in, out);
        }
    }

    Memory memory;
    ConfigSpace config{
        {numbers::kLargestPayload, numbers::kLargestPayload, 64, numbers::kBar0Size}};
    Rules rules{Rules::Mode::Fatal};
    Faults faults;
    TlpLog log{""};
    RootComplex root{memory, config, rules, faults};
    HardBlock block;
    Time now = 0;
    PinsOut out;
};

using Counters = const StreamCounters &(HardBlock::*)() const;

struct Stream {
    const char *name;
    Counters counters;
    bool straddle;
    std::function<std::unique_ptr<User>(Rig &, unsigned bytes)> user;
};

// Makes a reader with as many reads in flight as the hard block's receive buffer has room for.
std::unique_ptr<User> reader(unsigned bytes, bool straddle) {
    unsigned reads = CompletionSpace::kHeaders / kHeadersPerRead;
    if (!straddle) reads = std::min(reads, kCompletionsInFlight / (H2cUser::kReadBytes / bytes));
    return std::make_unique<H2cUser>(reads, straddle);
}

const Stream kStreams[] = {
    {"rq", &HardBlock::rq, false,
     [](Rig &, unsigned bytes) { return std::make_unique<C2hUser>(bytes); }},
    {"rc", &HardBlock::rc, false, [](Rig &, unsigned bytes) { return reader(bytes, false); }},
    {"rc_straddle", &HardBlock::rc, true,
     [](Rig &, unsigned bytes) { return reader(bytes, true); }},
    {"cc", &HardBlock::cc, false,
     [](Rig &rig, unsigned bytes) { return std::make_unique<Answerer>(rig.root, bytes); }},
    {"cq", &HardBlock::cq, false,
     [](Rig &, unsigned bytes) { return std::make_unique<Target>(bytes); }},
};

// Writes of 128 bytes on RQ are measured at MPS 128, every other rate at MPS 256 or above.
unsigned mps_of(const Stream &stream, unsigned bytes) {
    bool small = stream.counters == &HardBlock::rq && bytes == 128;
    return small ? 128 : std::max(256u, bytes);
}

Json measure(const Stream &stream, unsigned bytes, unsigned cycles) {
    unsigned mps = mps_of(stream, bytes);
    Rig rig(mps, bytes, stream.straddle);
    auto user = stream.user(rig, bytes);
    rig.run(*user, kWarmUp);
    uint64_t before = (rig.block.*stream.counters)().payload_bytes;
    rig.run(*user, cycles);
    uint64_t moved = (rig.block.*stream.counters)().payload_bytes - before;
    double nanoseconds = static_cast<double>(cycles) * kCycle / kNanosecond;
    return Json()
        .number("gb_per_s", static_cast<double>(moved) / nanoseconds)
        .number("bytes", moved)
        .number("cycles", uint64_t{cycles})
        .number("mps", uint64_t{mps})
        .number("violations", rig.rules.total());
}

// Returns the rates of all streams as JSON.
std::string measure_all(unsigned cycles) {
    Json all;
    for (const Stream &stream : kStreams) {
        Json rates;
        for (unsigned bytes : {64u, 128u, 256u, 512u})
            rates.object(std::to_string(bytes), measure(stream, bytes, cycles));
        all.object(stream.name, rates);
    }
    return all.text();
}

}  // namespace

}  // namespace lanebox

int main(int argc, char **argv) {
    unsigned cycles = argc > 1 ? static_cast<unsigned>(strtoul(argv[1], nullptr, 10)) : 100'000;
    if (argc > 2 || cycles == 0) {
        fprintf(stderr, "usage: ideal [CYCLES], at least 1\n");
        return 2;
    }
    try {
        printf("%s\n", lanebox::measure_all(cycles).c_str());
    } catch (const std::exception &error) {
        fprintf(stderr, "ideal: %s\n", error.what());
        return 1;
    }
}
