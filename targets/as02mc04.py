#!/usr/bin/env python3

# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Target: Alibaba Cloud's AS02MC04 (KU3P, PCIe Gen3 x8).

Builds the SoC that the simulator runs, for the card: gateware, register map, and a netlist with
its report. Exit status 0: done; 1: something is wrong; 2: no environment; 3: all is done that
needs no vendor tool."""

import sys
from pathlib import Path

# Python must search the repository's root, from which the modules below are imported.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from targets import silicon
from targets.as02mc04_platform import BOARD

if __name__ == "__main__":
    silicon.main(BOARD, __doc__)
