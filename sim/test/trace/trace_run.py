# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A short run of the board with known TLPs, recorded as text or as pcapng.

The run has host accesses, a page of DMA each way below and above 4 GiB with an interrupt, and a
read of the card that the host refuses.
"""

from __future__ import annotations

import functools
import os
import random
from dataclasses import dataclass
from pathlib import Path

from sim.test.board.board_builds import ROOT, build_executable, register_map
from sim.test.board.board_client import BAR0_ADDRESS, HIGH_MEMORY, slices, wait_until
from sim.test.board.board_process import WatchedBoard
from tools.testing.seeds import SHIFT

# Each worker of pytest has its own folder, because another worker may be reading its file.
FOLDER = ROOT / "build" / "tests" / "trace" / os.environ.get("PYTEST_XDIST_WORKER", "alone")
LOW_MEMORY = 0x1000_0000
NOWHERE = 0x7_0000_0000
PAGE = 4096
SCRATCH = 0x1234_5678, 0xCAFE_F00D


@dataclass(frozen=True)
class Recording:
    path: Path
    data: list[bytes]  # the pages of data that went through the card's loopback
    sources: list[int]
    sinks: list[int]
    scratch: int  # bus address of the register that the host wrote and read


@functools.cache
def recording(suffix: str = "pcapng") -> Recording:
    """Record the TLPs of one run of the board, once in a test session. `suffix` is the file's
    format."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"run.{suffix}"
    print(f"seed {SHIFT}")
    rng = random.Random(SHIFT)
    pages = [rng.randbytes(PAGE) for _ in range(2)]
    sources, sinks = [LOW_MEMORY, HIGH_MEMORY + PAGE], [HIGH_MEMORY, LOW_MEMORY + 2 * PAGE]
    with WatchedBoard(build_executable(), register_map(), ["--seed", str(SHIFT)], path) as board:
        card = board.card(mps=256, mrrs=512)
        card.write("ctrl_scratch", SCRATCH[1])
        assert card.read("ctrl_scratch") == SCRATCH[1]
        card.enable_interrupts("c2h")
        for data, source, sink in zip(pages, sources, sinks):
            _loopback(card, data, source, sink)
        card.program("h2c", [(NOWHERE, 512)])
        card.start("h2c")
        wait_until(lambda: board.stats()["rc"]["tlps"] == 2 * PAGE // 256 + 1, "the refusal")
    return Recording(path, pages, sources, sinks, BAR0_ADDRESS + card.address("ctrl_scratch"))


def _loopback(card, data, source, sink):
    memories = card.memory(source, PAGE), card.memory(sink, PAGE)
    memories[0].data[:] = data
    card.write("pcie_dma0_loopback_enable", 1)
    card.program("h2c", slices(source, PAGE, PAGE))
    card.program("c2h", slices(sink, PAGE, PAGE))
    card.start("c2h", "h2c")
    card.wait_data(memories[1], data)
    card.wait_interrupt()
    card.stop()
