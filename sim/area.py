# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `area/*` and `depth/*`: what the gateware takes of the part, by Yosys.

Endpoint and MMIO bridge without DMA engines and target memories, LitePCIe's endpoint beside them;
the two DMA engines by themselves.
A synthesis takes a minute or two and is kept until the gateware changes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from lanebox.synthesis.gateware import endpoint_rows, engine_rows
from sim.artefacts import ROOT
from sim.errors import BuildError
from sim.results import Row, commit

HARD_BLOCK = ROOT / "sim" / "board" / "pcie4" / "pcie_usp.sv"


def rows(gateware: Path) -> Iterator[Row]:
    """Rows of the gateware in this folder and of the stock endpoint."""
    print("bench: Yosys takes a minute or two, unless nothing has changed", file=sys.stderr)
    try:
        found = endpoint_rows(gateware, HARD_BLOCK) + engine_rows(gateware / "engines")
    except (ValueError, RuntimeError) as error:
        raise BuildError(f"area and depth: {error}") from error
    for entry in found:
        yield Row(**entry, commit=commit())
