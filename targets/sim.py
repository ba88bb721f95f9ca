#!/usr/bin/env python3

# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Target: the simulated KU5P card.

Builds the same SoC as the card's own target, as Verilog above the PCIe hard block's user pins. It
does not compile the simulation: the board process in sim/board/ does, from what this writes."""

import logging
import sys
from pathlib import Path

# Python must search the repository's root, from which the modules below are imported.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from targets.gateware_options import check_gateware_options, gateware_key, virtio_build
from targets.sim_options import parse_arguments
from tools.environment import enter_environment


def make_soc(arguments, user, memories, firmware):
    """Return the simulated card's SoC with the options of the command line in `arguments`.

    `memories` are the initial contents of the two 4 KiB memories in BAR0."""
    from migen import Cat

    from gateware.card.upkeep import CAGES
    from gateware.soc import LaneboxSoC
    from targets.sim_platform import Platform

    platform = Platform()
    soc = LaneboxSoC(platform,
        pads     = platform.request("pcie_x8"),
        leds     = platform.request_all("user_led"),
        board    = "sim",
        endpoint = arguments.endpoint,
        user     = user,
        memories = memories,
        msix     = arguments.msix,
        compat   = arguments.compat,
        completion_pool = arguments.completion_pool,
        capture  = arguments.capture,
        card     = CAGES if arguments.card else None,
        virtio   = virtio_build(arguments),
        firmware = firmware,
    )
    sides = [signal for side in (soc.user.sink, soc.user.source)
        for signal in (side.valid, side.ready, side.last)]
    if arguments.card:
        add_cages(soc)
    if arguments.virtio and arguments.port == "wire":
        add_mac(soc)
    soc.comb += [
        platform.request("busy").eq(soc.busy),
        platform.request("user_slot").eq(Cat(*sides)),
    ]
    return soc

def add_cages(soc):
    """Connect the pins of the SoC's cages to the simulation's models of them."""
    from migen import ClockSignal, Instance

    from gateware.card.upkeep import CAGES

    for name, pins in soc.cages.items():
        soc.specials += Instance("qsfp_cage",
            p_CAGE     = CAGES.index(name),
            i_clk      = ClockSignal(),
            i_scl_low  = pins.scl_low,
            i_sda_low  = pins.sda_low,
            o_scl      = pins.scl,
            o_sda      = pins.sda,
            i_modsel_n = pins.modsel_n,
            i_reset_n  = pins.reset_n,
            i_lpmode   = pins.lpmode,
            o_modprs_n = pins.modprs_n,
            o_int_n    = pins.int_n,
        )

def add_mac(soc):
    """Connect the wire behind the SoC's net device to the simulation's model of a MAC."""
    from migen import ClockSignal, Instance, ResetSignal

    h2c, c2h = soc.port.transmit, soc.port.receive
    soc.comb += [
        c2h.head.original.eq(c2h.head.kept),
        c2h.head.port.eq(0),
        c2h.head.flags.eq(0),
        c2h.error.eq(0),
    ]
    soc.specials += Instance("frame_port",
        p_DATA      = len(h2c.data),
        p_BYTES     = len(h2c.bytes),
        p_LENGTH    = len(c2h.head.kept),
        i_clk       = ClockSignal(),
        i_rst       = ResetSignal(),
        i_h2c_valid = h2c.valid,
        o_h2c_ready = h2c.ready,
        i_h2c_last  = h2c.last,
        i_h2c_data  = h2c.data,
        i_h2c_bytes = h2c.bytes,
        i_h2c_error = h2c.error,
        o_c2h_valid = c2h.valid,
        i_c2h_ready = c2h.ready,
        o_c2h_last  = c2h.last,
        o_c2h_data  = c2h.data,
        o_c2h_bytes = c2h.bytes,
        o_c2h_kept  = c2h.head.kept,
        o_c2h_time  = c2h.head.time,
        o_link      = soc.port.up,
    )

def build(arguments):
    """Check all options and read all input files, then build the gateware if it is not up to date.

    Return whether anything was built."""
    # The gateware is imported here, because finding the environment and showing --help must work
    # without its packages.
    from gateware.card.cpu.image import choose_firmware
    from gateware.mmio.memory import BLANK_IMAGE, read_image
    from gateware.user.slot import find_occupant
    from tools.verilog.build import build_cached

    check_gateware_options(arguments, with_mac=True)
    firmware = choose_firmware(arguments.firmware, arguments.card)
    user     = find_occupant(arguments.user)
    memories = [
        read_image(filename) if filename else BLANK_IMAGE
        for filename in (arguments.memory0, arguments.memory1)
    ]
    return build_cached(arguments.output_dir, gateware_key(arguments, user, firmware, memories),
        lambda: make_soc(arguments, user, memories, firmware))

def main():
    """Build the simulated card's gateware. If the build fails, end the program with a message that
    says why."""
    arguments = parse_arguments(__doc__)
    enter_environment()
    logging.basicConfig(level=logging.WARNING) # With a lower level LiteX would print its whole log.
    try:
        built = build(arguments)
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"{sys.argv[0]}: {error}")
    print(f"{arguments.output_dir}: {'built' if built else 'up to date'}")

if __name__ == "__main__":
    main()
