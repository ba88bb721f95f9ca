#!/usr/bin/env python3

# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Target: the simulated KU5P card.

Builds the same SoC as the card's own target, as Verilog above the PCIe hard block's user pins. It
does not compile the simulation: the board process in sim/board/ does, from what this writes.
"""

import argparse
import logging
import sys
from pathlib import Path

# Python must search the repository's root, from which the modules below are imported.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from tools.environment import ROOT, enter_environment

EPILOG = """
examples:
  targets/sim.py --build
      the default gateware, into build/sim: gateware/lanebox.v, gateware/sources.txt, csr.json and
      include/*.h; nothing is done if they are up to date
  targets/sim.py --build --memory0 boot.hex --output-dir build/boot
      with contents in the memory at BAR0 + 0x10000 (.hex: one 32-bit word per line; .coe; .bin)
  targets/sim.py --build --user examples/scale/scale.py:Scale --output-dir build/scale
      with your own logic between the h2c and c2h streams (see gateware/user/slot.py)
"""

def parse_arguments():
    """Return the parsed command line of targets/sim.py."""
    parser = argparse.ArgumentParser(
        description     = __doc__,
        epilog          = EPILOG,
        formatter_class = argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--build", action="store_true", required=True,
        help="write the gateware and its register map")

    target = parser.add_argument_group("target options")
    target.add_argument("--endpoint", default="lanebox", metavar="NAME",
        help="PCIe endpoint: lanebox (default) or litepcie, the stock one")
    target.add_argument("--memory0", metavar="FILE",
        help="contents of the first memory of BAR0, 4 KiB (default: zero)")
    target.add_argument("--memory1", metavar="FILE",
        help="contents of the second memory of BAR0, 4 KiB (default: zero)")
    target.add_argument("--msix", action="store_true",
        help="MSI-X, a vector for each cause, beside MSI (default: MSI alone)")
    target.add_argument("--completion-pool", action="store_true",
        help="count headers and data of read completions together: for a host or hard block that "
            "gives them one pool of 2048 units (default: 256 headers, 2048 units of data)")
    target.add_argument("--capture", type=int, nargs="?", const=1, default=0, metavar="QUEUES",
        help="the capture block and its generator of frames, with 1 (default), 2, 4, 8 or 16 "
            "queues (default: none)")
    target.add_argument("--card", action="store_true",
        help="the card services: flash over PCIe, reboot, sensors, modules (default: none)")
    target.add_argument("--firmware", default="none", metavar="NAME",
        help="firmware of the card's management CPU, with --card: default, a folder with .c files, "
            "or none for no CPU (default: none)")
    target.add_argument("--virtio", action="store_true",
        help="a virtio console that answers with what it is sent, and a virtio net device "
            "(default: none)")
    target.add_argument("--port", default="echo", metavar="NAME",
        help="far side of the virtio net device: echo (default) answers ARP, ping and UDP; wire "
            "leads to a socket of the board (its option --wire)")
    target.add_argument("--compat", metavar="NAME",
        help="seed000: the two memories at BAR0 + 0x0000 and + 0x4000, registers behind them")
    target.add_argument("--user", default="gateware.user.loopback:Loopback",
        metavar="MODULE:CLASS",
        help="logic in the user slot; MODULE is a dotted name or a .py file (default: loopback)")

    builder = parser.add_argument_group("builder options")
    builder.add_argument("--output-dir", default=str(ROOT/"build"/"sim"), metavar="DIR",
        help="where to write (default: build/sim)")
    return parser.parse_args()

def make_soc(arguments, user, memories, firmware):
    """Return the simulated card's SoC with the options of the command line in `arguments`.

    `memories` are the initial contents of the two 4 KiB memories in BAR0.
    """
    from migen import Cat

    from gateware.card.upkeep import CAGES
    from gateware.soc import LaneboxSoC
    from targets.sim_platform import Platform

    platform = Platform()
    soc = LaneboxSoC(platform,
        pads     = platform.request("pcie_x8"),
        leds     = platform.request_all("user_led"),
        target   = "sim",
        endpoint = arguments.endpoint,
        user     = user,
        memories = memories,
        msix     = arguments.msix,
        compat   = arguments.compat,
        completion_pool = arguments.completion_pool,
        capture  = arguments.capture,
        card     = CAGES if arguments.card else None,
        virtio   = arguments.port if arguments.virtio else None,
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

    Return whether anything was built.
    """
    # The gateware is imported here, because finding the environment and showing --help must work
    # without its packages.
    from gateware.capture.registers import check_capture
    from gateware.card.cpu.image import choose_firmware
    from gateware.card.upkeep import check_upkeep
    from gateware.endpoint.endpoints import check_endpoint
    from gateware.mmio.memory import BLANK_IMAGE, read_image
    from gateware.user.slot import find_occupant, occupant_sources
    from gateware.virtio.device import check_virtio
    from gateware.vocabulary.windows import check_compat
    from tools.verilog.build import build_cached, build_key
    from tools.verilog.sources import source_digest, source_files

    check_endpoint(arguments.endpoint, arguments.completion_pool)
    check_capture(arguments.capture, arguments.endpoint)
    check_upkeep(arguments.card, arguments.compat)
    check_virtio(arguments.virtio, arguments.endpoint, arguments.compat, arguments.port,
        with_mac=True)
    check_compat(arguments.compat, arguments.endpoint, arguments.msix)
    firmware = choose_firmware(arguments.firmware, arguments.card)
    user     = find_occupant(arguments.user)
    memories = [
        read_image(filename) if filename else BLANK_IMAGE
        for filename in (arguments.memory0, arguments.memory1)
    ]
    key = build_key(
        sources = source_digest(source_files(ROOT/"gateware"), source_files(ROOT/"targets"),
            source_files(ROOT/"tools"/"verilog"), occupant_sources(user)),
        options = [arguments.endpoint, user.__module__, user.__qualname__, memories,
            arguments.msix, arguments.compat, arguments.completion_pool,
            arguments.capture, arguments.card, arguments.virtio, arguments.port,
            firmware and firmware.digest()],
    )
    return build_cached(arguments.output_dir, key,
        lambda: make_soc(arguments, user, memories, firmware))

def main():
    """Build the simulated card's gateware. If the build fails, end the program with a message that
    says why.
    """
    arguments = parse_arguments()
    enter_environment()
    logging.basicConfig(level=logging.WARNING) # With a lower level LiteX would print its whole log.
    try:
        built = build(arguments)
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"{sys.argv[0]}: {error}")
    print(f"{arguments.output_dir}: {'built' if built else 'up to date'}")

if __name__ == "__main__":
    main()
