// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The options of the board's command line.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "link/numbers.hpp"
#include "link/rules.hpp"
#include "machine/gateware.hpp"
#include "port/wire.hpp"

namespace lanebox {

struct Options {
    std::string socket, control, tlp_log, stats;
    std::string flash;  // path of the file with the flash's contents; empty: the flash is erased
    uint64_t flash_speed = 1000;  // divides the flash's times of erasing and programming
    unsigned mps = numbers::kLargestPayload, mrrs = numbers::kLargestPayload, rcb = 64;
    unsigned np_credits = numbers::kMmioReads, stall_percent = 0;
    uint64_t seed = 1, pace = 0;
    bool straddle = false, completion_pool = false, flr = false, link_rate = true;
    uint64_t bar2 = 0;  // size of BAR2 in bytes; 0: no BAR2
    ConfigSpace::Msix msix;
    LinkState link;
    HostTiming timing;
    Rules::Mode rules = Rules::Mode::Fatal;
    Waves waves;
    Environment environment;
    WireOptions wire;
    std::array<CageContents, 2> cages;  // what is in cage A and in cage B
    std::vector<std::string> faults;
    std::string fault_script;
    bool once = false, help = false;
};

// Parses the command line. A wrong option throws std::invalid_argument, which names the option, its
// value and the rule it broke.
Options parse_options(int argc, char **argv);
// Sets one option by its name. A wrong value throws std::invalid_argument.
void set_option(Options &options, const std::string &name, const std::string &value);
// Returns the text that --help prints.
std::string usage();

}  // namespace lanebox
