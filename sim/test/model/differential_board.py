# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run a plan of the differential proof on the simulated board, and record the hard block's pins.

The proof runs the same plan on cocotbext-pcie's model of the hard block and compares. The board is
built as always, with one more file among its gateware's sources: the recorder.
"""

import contextlib
import json
import shutil
import time
from pathlib import Path

from sim.board.build import build_board
from sim.board.process import BoardProcess
from sim.clients.vfio import BAR0
from sim.differential.cocotb_side import gateware_sources, recorder
from sim.differential.execute import NotReached, execute
from sim.differential.operations import EXTENDED_TAGS, LINK_FIELDS, MEMORIES, PIECE, Plan
from sim.test.board.board_client import Card

BAR0_REGISTER, EXPRESS = 0x10, 0x10
AWAIT_SECONDS = 5


def instrumented(gateware: Path, directory: Path) -> Path:
    """Make `directory` a gateware folder whose source list has the pin recorder beside `gateware`'s
    files."""
    folder = directory / "gateware"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [str(path) for path in [*gateware_sources(gateware), recorder()]]
    (folder / "sources.txt").write_text("\n".join(lines) + "\n")
    for image in (gateware / "gateware").glob("*.init"):
        shutil.copy(image, folder)
    return directory


def _in_directory(board: Path, directory: Path) -> Path:
    """Make a script that runs the board program in `directory`, where the recorder must write its
    file."""
    script = directory / "board.sh"
    script.write_text(f'#!/bin/sh\ncd "{directory}" && exec "{board}" "$@"\n')
    script.chmod(0o755)
    return script


def hard_block_options(constants):
    """Return the board's options that set the hard block up as the gateware with these constants
    expects it."""
    options = ["--straddle"] if constants.get("pcie_rc_straddle") else []
    if bar2 := constants.get("pcie_bar2_size"):
        options += ["--bar2", str(bar2)]
    return options


class BoardHost:
    """The host that sim/differential/execute.py drives, carried out by a client of the board.

    execute() awaits all methods of a host, so the methods of this class are coroutines. None of
    them suspends.
    """

    def __init__(self, card: Card):
        self.card = card
        self.offsets = card.capabilities()
        self.memories = {address: card.memory(address, PIECE) for address in MEMORIES}
        self.messages = 0

    def interrupts(self):
        self.messages += self.card.interrupts()
        return self.messages

    async def config_read(self, capability, offset, size):
        return self.card.config_read(self.offsets[capability] + offset, size)

    async def link(self, mps, mrrs):
        control = self.offsets[EXPRESS] + 8
        sizes = (mps.bit_length() - 8) << 5 | (mrrs.bit_length() - 8) << 12
        value = self.card.config_read(control, 2) & ~LINK_FIELDS | EXTENDED_TAGS | sizes
        self.card.config_write(control, value, 2)

    async def read(self, offset, size):
        return self.card.mmio_read(offset, size)

    async def read_many(self, offsets, size):
        data = self.card.client.read_many(BAR0, offsets, size)
        return [int.from_bytes(one, "little") for one in data]

    async def write(self, offset, value, size):
        self.card.mmio_write(offset, value, size)

    def fill(self, address, data):
        base = max(base for base in MEMORIES if base <= address)
        self.memories[base].data[address - base : address - base + len(data)] = data

    def peek(self, address, size):
        base = max(base for base in MEMORIES if base <= address)
        return self.memories[base].data[address - base : address - base + size]

    async def until(self, condition):
        deadline = time.monotonic() + AWAIT_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise NotReached
            time.sleep(0.001)


def observe(
    gateware: Path, directory: Path, seed: int, length: int, bar: int, split: bool = False
) -> dict:
    """Run the plan of `seed` on a board whose BAR0 is at `bar`.

    The result has the same form as that of cocotb_side.observe. With `split` completions have 64
    bytes. The recorder's file is written into `directory`.
    """
    options = ["--rules", "warn", "--mps", "512", "--completion-size", "64" if split else "0"]
    csr = json.loads((gateware / "csr.json").read_text())
    options += hard_block_options(csr["constants"])
    board = build_board(instrumented(gateware, directory / "sources"), quiet=True)
    command = _in_directory(board, directory)
    with contextlib.ExitStack() as at_end:
        # The board process must end before the client disconnects: a disconnect would reset
        # configuration space, and the recorded pins would show that.
        leave = at_end.enter_context(contextlib.ExitStack())
        process = at_end.enter_context(BoardProcess(command, options))
        card = Card(process.socket, csr)
        leave.callback(card.close)
        card.enumerate(mps=512, mrrs=512)
        card.config_write(BAR0_REGISTER, bar)
        outcome = _run(execute(Plan(csr, seed, length).build(), BoardHost(card)))
        outcome["violations"] = process.stats()["violations"]
    return outcome


def _run(coroutine) -> dict:
    """Run a coroutine that never suspends; returns its result."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the board's host has waited: its coroutines must not")
