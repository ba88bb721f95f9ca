# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""LitePCIe's own front ends work unchanged on the Lanebox endpoint: Wishbone master, MSI-X and AXI
slave.

LitePCIeMSI is not tested in this file, since every default build has it, and nearly every other
test of the board uses it.
"""

import functools
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from sim.board.build import build_board
from sim.test.board.board_builds import ROOT
from sim.test.board.board_client import C2H_GENERATE, HIGH_MEMORY, pattern, slices, wait_until
from sim.test.card.front_ends import BEATS, VECTORS
from tools.testing.seeds import SHIFT

# The tests of this file build gateware and a board of their own, which takes minutes.
pytestmark = pytest.mark.soak

# bus address below 4 GiB: LitePCIe's AXI slave and MSI-X have 32-bit addresses
BURSTS = 0x2000_0000
MESSAGES = 0x3000_0000
C2H = 1
TOTAL = 1 << 16
WRITE, READ = 1, 2


@functools.cache
def build():
    """Build the gateware and the board of front_ends.py, once for all tests. Returns (the
    gateware's folder, the path of the board's program)."""
    folder = ROOT / "build" / "sim-front-ends"
    script = Path(__file__).with_name("front_ends.py")
    subprocess.run([sys.executable, script, folder], check=True)
    return folder, build_board(folder, quiet=True)


@functools.cache
def described():
    """Return the register map of the tests' gateware: the content of csr.json, which LiteX
    wrote."""
    return json.loads((build()[0] / "csr.json").read_text())


@pytest.fixture
def start(boards_of):
    return boards_of(build()[1], described())


@pytest.fixture
def rng():
    print(f"seed {SHIFT}")
    return random.Random(SHIFT)


def test_the_wishbone_master_reaches_registers_and_memories(start, rng):
    """Through LitePCIeWishboneMaster, dwords that the host writes in any order read back, and DMA
    that is programmed by it works."""
    with start() as board:
        card = board.card()
        bases = [card.memories[f"memory{n}"]["base"] for n in range(2)]
        written = {}
        for _ in range(300):
            at = rng.choice(bases) + 4 * rng.randrange(1024)
            written[at] = rng.getrandbits(32)
            card.mmio_write(at, written[at])
        for at, word in written.items():
            assert card.mmio_read(at) == word, hex(at)
        card.write("ctrl_scratch", 0x1234_5678)
        assert card.read("ctrl_scratch") == 0x1234_5678
        memory = card.memory(HIGH_MEMORY, TOTAL)
        card.enable_interrupts("c2h")
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", slices(HIGH_MEMORY, TOTAL, 8192))
        card.start("c2h")
        assert card.wait_interrupt() == 1
        card.wait_data(memory, pattern(TOTAL))


def program_vector(card, vector, data, masked):
    table = described()["csr_bases"]["stock_msix_table"]
    # An entry of LitePCIe's MSI-X table is a word of 128 bits in a LiteX memory, whose uppermost
    # dword is at the lowest offset. So the dwords are lower address, upper address, data and vector
    # control.
    for i, word in enumerate((MESSAGES + 4 * vector, 0, data, int(masked))):
        card.mmio_write(table + 16 * vector + 4 * i, word)


def test_litepcies_msix_writes_its_message(start):
    """With LitePCIeMSIX, an interrupt writes the data of its vector to the address of its vector,
    and nothing else. An interrupt of a masked vector writes nothing."""

    def words():
        return [int.from_bytes(messages.data[4 * v : 4 * v + 4], "little") for v in range(VECTORS)]

    with start() as board:
        card = board.card()
        messages = card.memory(MESSAGES, 4096)
        card.memory(HIGH_MEMORY, TOTAL)
        card.write("stock_msix_enable", 2**VECTORS - 1)
        for vector in range(VECTORS):
            program_vector(card, vector, 0xA0 + vector, masked=False)
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", [(HIGH_MEMORY, 8192)])
        card.start("c2h")
        wait_until(lambda: messages.data[4 * C2H] == 0xA0 + C2H, "the message")
        assert words() == [0, 0xA0 + C2H, 0, 0]
        messages.data[: 4 * VECTORS] = bytes(4 * VECTORS)
        program_vector(card, C2H, 0xB0, masked=True)
        card.program("c2h", [(HIGH_MEMORY, 8192)])
        card.start("c2h")
        wait_until(lambda: card.read("pcie_dma0_writer_table_loop_status") == 1, "the descriptor")
        for _ in range(10):
            assert card.read("stock_msix_pba") == 0 and words() == [0] * VECTORS


class Bursts:
    """Software's side of BurstMaster, the card's AXI4 master that carries out one burst at a
    time."""

    def __init__(self, card):
        self.card = card

    def place(self, index):
        self.card.write("burst_place", index)

    def fill(self, words):
        for index, word in enumerate(words):
            self.place(index)
            self.card.write("burst_dword", word)

    def words(self, count):
        found = []
        for index in range(count):
            self.place(index)
            found.append(self.card.read("burst_content"))
        return found

    def run(self, kind, address, beats):
        self.card.write("burst_address", address)
        self.card.write("burst_beats", beats)
        self.card.write("burst_start", kind)
        wait_until(lambda: self.card.read("burst_done"), "the burst's end")


@pytest.mark.parametrize("beats", [1, 5, BEATS])
def test_the_axi_slave_reads_and_writes_the_host(start, rng, beats):
    """Through LitePCIeAXISlave, an AXI burst of the card writes its data to host memory, or reads
    it from there, and changes nothing else."""
    with start() as board:
        card = board.card()
        memory, bursts = card.memory(BURSTS, 8192), Bursts(card)
        words = [rng.getrandbits(32) for _ in range(8 * beats)]
        data = b"".join(word.to_bytes(4, "little") for word in words)
        at = 32 * rng.randrange(16)
        bursts.fill(words)
        bursts.run(WRITE, BURSTS + at, beats)
        expected = bytearray(8192)
        expected[at : at + len(data)] = data
        card.wait_data(memory, bytes(expected))
        memory.data[4096 : 4096 + len(data)] = data[::-1]
        bursts.run(READ, BURSTS + 4096, beats)
        found = b"".join(word.to_bytes(4, "little") for word in bursts.words(8 * beats))
        assert found == data[::-1]
