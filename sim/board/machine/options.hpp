// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The board's command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateware.hpp"
#include "pcie4/rules.hpp"

namespace lanebox {

struct Options {
    std::string socket, control, tlp_log, stats;
    unsigned mps = 512, mrrs = 512, rcb = 64, np_credits = 32, stall_percent = 0;
    uint64_t seed = 1, pace = 0;
    bool straddle = false, completion_pool = false, flr = false, link_rate = true;
    uint64_t bar2 = 0;  // bytes
    ConfigSpace::Msix msix;
    LinkState link;
    HostTiming timing;
    Rules::Mode rules = Rules::Mode::Fatal;
    Waves waves;
    std::vector<std::string> faults;
    std::string fault_script;
    bool once = false, help = false;
};

// Throws std::invalid_argument with the option, its value and the rule.
Options parse_options(int argc, char **argv);
// Sets one option by its name; throws as parse_options().
void set_option(Options &options, const std::string &name, const std::string &value);
std::string usage();

}  // namespace lanebox
