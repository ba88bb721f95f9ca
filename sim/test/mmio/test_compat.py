# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Gateware that was built with --compat seed000: its two memories are at the start of BAR0, and all
else is behind them.

Seed 000 is the document that this address map follows. Software must find all blocks but the
memories by the capability table.
"""

import functools
import json
import random
import subprocess
import sys

import pytest

from sim import artefacts
from sim.board.build import build_board
from sim.test.board.board_builds import ROOT
from sim.test.driver.driver_guest import boot
from tools.testing.seeds import SHIFT

pytestmark = pytest.mark.soak  # these tests build their own gateware and board

# Dwords of each of the card's two memories, and the offset of the second memory in BAR0.
WORDS, SECOND = 1024, 0x4000
FOLDER = ROOT / "build" / "sim-seed000"


def image(number):
    rng = random.Random(number)
    return [rng.getrandbits(32) for _ in range(WORDS)]


@functools.cache
def build():
    """Build gateware and board with --compat seed000, where each memory gets its contents from a
    file. Returns the path of the board's program."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, ROOT / "targets" / "sim.py", "--build", "--compat", "seed000"]
    for number in range(2):
        path = FOLDER / f"memory{number}.hex"
        path.write_text("".join(f"{word:08x}\n" for word in image(number)))
        command += [f"--memory{number}", path]
    subprocess.run([*command, "--output-dir", FOLDER], check=True)
    return build_board(FOLDER, quiet=True)


@pytest.fixture
def start(boards_of):
    program = build()
    return boards_of(program, json.loads((FOLDER / "csr.json").read_text()))


def test_the_memories_are_where_the_seed_has_them(start):
    """The two memories are at 0x0000 and 0x4000 of BAR0, with the contents of their files. The rest
    of the first 32 KiB of BAR0 is empty."""
    print(f"seed {SHIFT}")
    rng = random.Random(SHIFT)
    with start() as board:
        card = board.card()
        for base, words in ((0, image(0)), (SECOND, image(1))):
            for index in rng.sample(range(WORDS), 100):
                assert card.mmio_read(base + 4 * index) == words[index]
            card.mmio_write(base + 8, 0x1122_3344_5566_7788, count=8)
            assert card.mmio_read(base + 8, count=8) == 0x1122_3344_5566_7788
        card.write("ctrl_scratch", 0x5EED_0000)
        assert card.read("ctrl_scratch") == 0x5EED_0000
        for gap in (0x1000, 0x3FFC, 0x5000, 0x8000):
            assert card.mmio_read(gap) == 0xFFFF_FFFF


def test_driver_and_library_find_the_card(start):
    """The driver in a guest finds the card's registers by its capability table. So does the library
    on the board's socket."""
    headers = FOLDER / "include"
    with start() as board:
        util = [artefacts.utility(headers), "-d", f"sim:{board.socket}"]
        for command in ("info", "scratch_test", "dma_test"):
            arguments = ["--direction", "loopback", "--size", "1M"] if command[0] == "d" else []
            subprocess.run([*util, command, *arguments], check=True, timeout=60)
    util = (artefacts.utility(headers, static=True), "bin/litepcie_util")
    commands = ["litepcie_util dma_test --direction loopback --size 2M >/out/dma"]
    with start("--pace", "100000") as board:
        result = boot(board, commands, None, [], [util], timeout=180)
    assert b"0 wrong c2h buffers, 0 wrong h2c beats" in result.files["dma"]
