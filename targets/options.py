# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Define the command line that all boards' targets have in common."""

import argparse

from bringup import programming
from targets.gateware_options import add_gateware_options
from tools.environment import ROOT

ACTIONS = ("build", "synth_only", "detect", "load", "flash", "rescan", "driver")

def parse_arguments(board, description):
    """Return the parsed command line of the target of `board`.

    The program ends with status 2 and a sentence if options contradict each other, or if no option
    asks for an action."""
    parser = argparse.ArgumentParser(description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    target = parser.add_argument_group("target options")
    target.add_argument("--build", action="store_true",
        help="write gateware, register map and netlist; then a bitstream, if Vivado is here")
    target.add_argument("--synth-only", action="store_true", help="build up to the netlist")
    target.add_argument("--detect", action="store_true",
        help="see whether the board's part is on the cable, and do nothing to it")
    target.add_argument("--load", action="store_true", help="load the bitstream over JTAG")
    target.add_argument("--flash", action="store_true",
        help="write the bitstream to the card's flash, and read it back")
    target.add_argument("--rescan", action="store_true",
        help="let this host look for the card again, and say how its link trained")
    target.add_argument("--driver", action="store_true",
        help="write driver and tools for this build, to be compiled")
    target.add_argument("--lanes", type=int, default=board.lanes[0], choices=board.lanes,
        help=f"lanes of PCIe that have pins (default: {board.lanes[0]})")
    add_gateware_options(target, "default", "default, or none without the RISC-V compiler",
        "needs a MAC, which only the simulation has")

    builder = parser.add_argument_group("builder options")
    builder.add_argument("--output-dir", default=str(ROOT/"build"/board.name), metavar="DIR",
        help=f"where to write (default: build/{board.name})")
    builder.add_argument("--synthesis", default="vivado", choices=("vivado", "yosys"),
        help="whose netlist becomes the bitstream (default: vivado); the report is always Yosys'")
    programming.add_options(parser)
    arguments = parser.parse_args()
    if arguments.golden and not arguments.flash:
        parser.error("--golden says which image --flash writes: give both")
    if not any(getattr(arguments, name) for name in ACTIONS):
        parser.error("nothing to do: " + " or ".join(f"--{name.replace('_', '-')}"
            for name in ACTIONS))
    return arguments
