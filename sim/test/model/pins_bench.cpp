// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Runs pins_bench.sv with the hard-block model, through the same C++ code by which a board connects
// its gateware. Straddle is on, the link is Gen2 x4, and the number of tags is the default.
#include <numeric>

#include "machine/gateware.hpp"

using namespace lanebox;

namespace {

class Memory : public Host {
public:
    bool memory_read(uint64_t, void *data, size_t bytes) override {
        auto *to = static_cast<uint8_t *>(data);
        std::iota(to, to + bytes, uint8_t{0});
        return true;
    }
    bool memory_write(uint64_t, const void *, size_t) override { return true; }
    bool interrupt() override { return true; }
};

}  // namespace

int main() {
    Memory memory;
    ConfigSpace config({512, 512, 64, 0x20000, {2, 4}});
    Rules rules(Rules::Mode::Fatal);
    Faults faults;
    TlpLog log("");
    RootComplex root(memory, config, rules, faults);
    HardBlock::Settings settings;
    settings.straddle = true;
    HardBlock block(root, config, rules, log, settings);
    uint16_t command = 6;
    config.write(0x04, &command, sizeof command);
    root.configure();
    // The bench has no card services, so nothing asks for these parts.
    FlashChip flash(kMt25qu256, 1, 1);
    Configuration configuration(flash.memory(), 0);
    CardPins card{flash, configuration, [] { return Time{0}; }};
    CardParts parts;
    Wire wire{WireOptions{}};
    Gateware gateware(block, config, card, parts, wire, {}, 1);
    for (unsigned cycle = 0; cycle < 700; cycle++) gateware.tick();
}
