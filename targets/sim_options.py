# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Define the command line of the simulation's target, targets/sim.py."""

import argparse

from targets.gateware_options import add_gateware_options
from tools.environment import ROOT

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

def parse_arguments(description):
    """Return the parsed command line of targets/sim.py, whose help begins with `description`."""
    parser = argparse.ArgumentParser(
        description     = description,
        epilog          = EPILOG,
        formatter_class = argparse.RawDescriptionHelpFormatter,
    )
    target = parser.add_argument_group("target options")
    target.add_argument("--build", action="store_true", required=True,
        help="write the gateware and its register map")
    target.add_argument("--memory0", metavar="FILE",
        help="contents of the first memory of BAR0, 4 KiB (default: zero)")
    target.add_argument("--memory1", metavar="FILE",
        help="contents of the second memory of BAR0, 4 KiB (default: zero)")
    add_gateware_options(target, "none", "none",
        "leads to a socket of the board (its option --wire)")

    builder = parser.add_argument_group("builder options")
    builder.add_argument("--output-dir", default=str(ROOT/"build"/"sim"), metavar="DIR",
        help="where to write (default: build/sim)")
    return parser.parse_args()
