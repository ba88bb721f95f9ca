// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The gateware, compiled by Verilator, with its only clock, user_clk. A tick is one period of 4 ns.
#pragma once

#include <exception>
#include <filesystem>
#include <memory>
#include <string>

#include "block/hard_block.hpp"
#include "card/card_pins.hpp"
#include "card/parts.hpp"
#include "link/config_space.hpp"
#include "machine/slot.hpp"
#include "pcie_border.hpp"
#include "port/wire.hpp"

class VerilatedContext;
class Vlanebox;
class VerilatedFstC;

namespace lanebox {

struct Waves {
    std::string path;  // Path of the file for waves. If it is empty, no waves are written.
    Time from = 0, to = ~Time{0};
};

// Returns the folder of this program, in which the memory contents of its gateware lie.
std::filesystem::path executable_folder();

class Gateware {
public:
    // Throws std::runtime_error when waves are asked for and the board was built without them.
    Gateware(HardBlock &hard_block, ConfigSpace &config, CardPins &card, CardParts &parts,
             Wire &wire, const Waves &waves, uint64_t seed);
    ~Gateware();

    // Lets one cycle pass. Rethrows an exception that the model of the hard block threw.
    void tick();
    // Configures the card anew: all its state is lost. Its memories get the contents of the files
    // in `folder`. Waves end here.
    void configure(const std::filesystem::path &folder);
    void reset();  // Drives PERST# low and high again, and runs until user_reset is low.
    // Takes the link down, in a hot reset or otherwise. user_reset stays set until link_up().
    void link_down(bool hot_reset);
    void link_up() { set_link(Link::Up); }
    // Returns the gateware's output `busy`. It is true if the gateware has work that the hard
    // block's pins do not show.
    bool busy() const;
    uint64_t cycles() const { return cycles_; }
    const Slot &slot() const { return slot_; }
    void clear_slot() { slot_.clear(); }
    Time now() const { return cycles_ * kCycle; }

    // Carries out one cycle of the hard block. The Verilog module pcie_usp calls it in each period
    // of user_clk.
    void step(const BorderInputs &inputs, BorderOutputs &outputs);
    // Returns this object to the pcie_usp instance, which calls bind() once with the layout of its
    // pins (sim/board/border.py). A layout other than that of C++ is an error, which tick() throws.
    void *bind(int layout);
    // Returns the model of the card's parts to the Verilog modules of card/.
    CardParts *parts() { return &parts_; }
    // Returns the model of the wire to the Verilog module frame_port.
    Wire *wire();
    // Called by the pcie_usp instance for each access on cfg_mgmt_*. Returns the dword of
    // configuration space that was read.
    uint32_t manage(unsigned dword, bool write, uint32_t data);

private:
    enum class Link { Up, HotReset, Down };
    void show_configuration(BorderOutputs &pins);
    void set_link(Link link);
    void dump(Time at);
    void elaborate();

    HardBlock &hard_block_;
    ConfigSpace &config_;
    CardPins &card_;
    CardParts &parts_;
    Wire &wire_;
    Waves waves_;
    uint64_t seed_;
    uint64_t cycles_ = 0;
    Slot slot_;
    Link link_ = Link::Up;
    // The values of the pins that show configuration space, as of its change number shown_changes_.
    // All other members are 0.
    BorderOutputs shown_{};
    uint64_t shown_changes_ = ~uint64_t{0};
    std::exception_ptr failure_;
    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<Vlanebox> top_;
    std::unique_ptr<VerilatedFstC> trace_;
};

}  // namespace lanebox
