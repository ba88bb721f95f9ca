// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The simulated machine: gateware, hard block, link, root complex and a peer device, connected.
//
// The path of a TLP. A read of the card goes up on the left side, and its completion comes down:
//
//   guest memory, MSI-X vectors       vfio_user/     BAR accesses of the client
//             ^                                          |          ^
//             | Host                                     v          | ReadDone
//        RootComplex   host/    HostMemory, HostCpu, HostLink, Peer
//             ^  |                                       |          ^
//             |  v     link/    one wire each way: symbol times, credits
//        HardBlock     block/   TLPs to beats, PG213's rules, tags, transmit buffer
//          ^     |                                       |          ^
//       rq |     | rc                                 cq |          | cc
//          |     v                                       v          |
//        Gateware      gateware.cpp: the Verilated SoC, a step each 4 ns
#pragma once

#include "card/card_pins.hpp"
#include "faults/fault_script.hpp"
#include "host/peer.hpp"
#include "link/numbers.hpp"
#include "machine/gateware.hpp"
#include "machine/options.hpp"
#include "port/wire.hpp"

namespace lanebox {

struct Machine {
    static constexpr uint64_t kBar0Bytes = numbers::kBar0Size;

    Machine(const Options &options, Host &host);

    // Returns true if a TLP is under way, a stream at the hard block's pins is not idle, or the
    // gateware says that it is busy.
    bool working() const;
    void tick();  // Lets one cycle of 4 ns pass. Rethrows an exception of the hard block's model.
    // Gives configuration space its state after power-on, loses all TLPs under way, and resets the
    // gateware with PERST#.
    void power_cycle();
    // Takes the card's power away for a moment: the flash stops in the middle of its work, and the
    // part starts from it. Returns what started.
    Boot lose_card_power();
    // Gives the gateware the identity of the image that the part has started. The gateware keeps
    // its own identity if no image started, or if the image is not one for the simulator.
    void configure(const Boot &boot);
    // Call it when the link is lost: TLPs under way are lost, and outstanding BAR reads end with
    // all ones.
    void lose_link();

    // Starts the card from its flash, if that is kept in a file and holds an image. Otherwise the
    // gateware runs as if it had been loaded over JTAG.
    void start_from_flash();
    // Opens the socket of --wire. Throws std::invalid_argument if the gateware has no wire.
    void open_wire();

    Time now() const { return gateware.now(); }

    // The part has started with an image that never brings its link up.
    bool without_link = false;
    Options options;
    ConfigSpace config;
    Rules rules;
    Faults faults;
    TlpLog log;
    RootComplex root;
    Peer peer;
    FaultScript script;
    HardBlock hard_block;
    FlashChip flash;
    Configuration configuration;
    CardPins card;
    CardParts parts;
    Wire wire;
    Gateware gateware;
};

}  // namespace lanebox
