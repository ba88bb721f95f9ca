# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `area/*` and `depth/*`: cells and logic depth of the gateware, as Yosys synthesises it.

Measured are the endpoint with the MMIO bridge, without DMA engines and target memories, beside
LitePCIe's endpoint; each of the two DMA engines; the user slot's monitor, which has a budget; and
the depth of the whole gateware. A synthesis takes a minute or two and is kept until the gateware
changes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from lanebox.synthesis.gateware import endpoint_rows, engine_rows, flat_rows, monitor_rows
from sim.artefacts import ROOT
from sim.errors import BuildError
from sim.results import Row, commit

HARD_BLOCK = ROOT / "sim" / "board" / "pcie4" / "pcie_usp.sv"


def rows(gateware: Path) -> Iterator[Row]:
    """Rows of the gateware in this folder and of the stock endpoint."""
    print("bench: Yosys takes some four minutes, unless nothing has changed", file=sys.stderr)
    try:
        found = endpoint_rows(gateware, HARD_BLOCK) + engine_rows(gateware / "engines")
        found += monitor_rows(gateware / "monitor") + flat_rows(gateware, HARD_BLOCK)
    except (ValueError, RuntimeError) as error:
        raise BuildError(f"area and depth: {error}") from error
    for entry in found:
        yield Row(**entry, commit=commit())
