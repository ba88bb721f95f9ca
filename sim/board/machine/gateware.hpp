// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The Verilated SoC with its clock: user_clk is the only one, a tick is one 4 ns period.
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "pcie4/config_space.hpp"
#include "pcie4/hard_block.hpp"
#include "slot.hpp"

class VerilatedContext;
class Vlanebox;
class VerilatedFstC;

namespace lanebox {

struct Waves {
    std::string path;  // empty: none
    Time from = 0, to = ~Time{0};
};

class Gateware {
public:
    // Throws std::runtime_error when waves are asked for and the board was built without them.
    Gateware(HardBlock &hard_block, ConfigSpace &config, const Waves &waves, uint64_t seed);
    ~Gateware();

    void tick();   // rethrows what the model threw
    void reset();  // PERST# low and high again, until user_reset is gone
    // The link goes down, in a hot reset or otherwise: user_reset stays set until link_up().
    void link_down(bool hot_reset);
    void link_up() { set_link(Link::Up); }
    bool busy() const;  // the gateware's `busy` output: work that the hard block's pins do not show
    uint64_t cycles() const { return cycles_; }
    const Slot &slot() const { return slot_; }
    void clear_slot() { slot_.clear(); }
    Time now() const { return cycles_ * kCycle; }

    // Called by the pcie_usp instance, once per user_clk.
    void step(const PinsIn &in, PinsOut &out, uint32_t &config_state, bool in_reset);
    // Called by the pcie_usp instance for each access on cfg_mgmt_*; returns the dword read.
    uint32_t manage(unsigned dword, bool write, uint32_t data);

private:
    enum class Link { Up, HotReset, Down };
    uint32_t pack();
    void set_link(Link link);
    void dump(Time at);

    HardBlock &hard_block_;
    ConfigSpace &config_;
    Waves waves_;
    uint64_t cycles_ = 0;
    Slot slot_;
    Link link_ = Link::Up;
    uint32_t packed_ = 0;  // pack() after packed_changes_ changes of the configuration
    uint64_t packed_changes_ = ~uint64_t{0};
    std::exception_ptr failure_;
    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<Vlanebox> top_;
    std::unique_ptr<VerilatedFstC> trace_;
};

}  // namespace lanebox
