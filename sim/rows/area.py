# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `area/*` and `depth/*`: cells and logic depth of the gateware, as Yosys synthesises it.

The first thing measured is the endpoint with the MMIO bridge, without DMA engines and target
memories; LitePCIe's endpoint is measured beside it. The others are each of the two DMA engines, the
user slot's monitor, the block that carries out its commands, the capture block, the card services
and the management CPU, which have budgets of cells, and the depth of the whole gateware. A
synthesis takes a minute or two, and its result is kept until the gateware changes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from sim.errors import BuildError
from sim.rows.results import Row, commit
from tools.synthesis.gateware import (
    capture_rows,
    card_rows,
    commands_rows,
    cpu_rows,
    endpoint_rows,
    engine_rows,
    flat_rows,
    monitor_rows,
)


def rows(gateware: Path) -> Iterator[Row]:
    """Synthesise the gateware in this folder and LitePCIe's endpoint, and yield the rows of their
    area."""
    print("bench: Yosys takes some four minutes, unless nothing has changed", file=sys.stderr)
    try:
        found = endpoint_rows(gateware) + engine_rows(gateware / "engines")
        found += monitor_rows(gateware / "monitor") + capture_rows(gateware / "capture")
        found += commands_rows(gateware / "commands")
        found += card_rows(gateware / "card") + cpu_rows(gateware / "cpu") + flat_rows(gateware)
    except (ValueError, RuntimeError) as error:
        raise BuildError(f"area and depth: {error}") from error
    for entry in found:
        yield Row(**entry, commit=commit())
