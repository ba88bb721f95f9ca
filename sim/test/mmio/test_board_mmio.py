# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Host accesses to BAR0: what they read and write, and that an access of up to 8 bytes is one TLP
with exact byte enables."""

import random
import subprocess
import sys

import pytest

from gateware.numbers import MEMORY_BASES, MEMORY_SIZE
from sim.board.build import build_board
from sim.clients.vfio import BAR0
from sim.test.board.board_builds import ROOT
from sim.test.board.board_client import BAR0_ADDRESS
from tools.testing.seeds import SHIFT, each_seed

SCRATCH_AT_RESET = 0x12345678
IDENTIFIER = 0x800  # offset of the gateware's identifier text, one character in each dword
IN_FLIGHT = 1000  # number of host reads in flight at a time, more than the host has tags


def natural_accesses(size):
    """Return (offset, count) of all naturally aligned accesses of 1, 2, 4 and 8 bytes within `size`
    bytes."""
    return [(at, count) for count in (1, 2, 4, 8) for at in range(0, size, count)]


def expected_tlp(offset, count):
    """Return (address, dwords, (first_be, last_be)) of the TLP for an aligned access, by section
    2.2.5 of the base specification."""
    if count == 8:
        return BAR0_ADDRESS + offset, 2, (0xF, 0xF)
    enables = ((1 << count) - 1) << (offset & 3)
    return BAR0_ADDRESS + (offset & ~3), 1, (enables, 0)


@each_seed(2)
def test_scratch_keeps_what_is_written(start_board, seed):
    """The scratch register first reads as its reset value. After each write it reads as the value
    that was written."""
    rng = random.Random(seed)
    with start_board() as board:
        card = board.card()
        assert card.read("ctrl_scratch") == SCRATCH_AT_RESET
        for _ in range(50):
            value = rng.getrandbits(32)
            card.write("ctrl_scratch", value)
            assert card.read("ctrl_scratch") == value


@pytest.mark.parametrize("stall", [0, 60])
@each_seed(1)
def test_memories_keep_every_word(start_board, stall, seed):
    """Each of the two memories in BAR0 keeps 1024 different words, with and without stalls of the
    hard block."""
    rng = random.Random(seed)
    with start_board("--stall", stall, "--seed", seed) as board:
        card = board.card()
        words = {
            memory["base"] + at: rng.getrandbits(32)
            for name, memory in card.memories.items()
            if name.startswith("memory")
            for at in range(0, memory["size"], 4)
        }
        assert len(words) == 2048
        for offset in rng.sample(sorted(words), len(words)):
            card.mmio_write(offset, words[offset])
        wrong = [hex(at) for at in words if card.mmio_read(at) != words[at]]
        assert not wrong, f"{len(wrong)} words differ: {wrong[:4]}"


def test_memories_keep_their_contents_at_power_up(start_board):
    """The simulation starts with random register values, which must not write into the memories.
    With 24 seeds both memories are zero after power on."""
    seeds = range(1 + 100 * SHIFT, 25 + 100 * SHIFT)
    changed = {}
    for seed in seeds:
        with start_board("--seed", seed) as board:
            card = board.card()
            for base in MEMORY_BASES:
                words = card.client.read(BAR0, base, MEMORY_SIZE)
                if any(words):
                    changed.setdefault(seed, []).append(hex(base))
    assert not changed, f"power-on values wrote into the memories at {changed} (by seed)"


def test_identifier_names_the_gateware(start_board):
    """The card's identifier memory has the text that csr.json gives for this gateware."""
    with start_board() as board:
        card = board.card()
        wanted = card.constants["config_identifier"]
        text = "".join(chr(card.mmio_read(IDENTIFIER + 4 * i)) for i in range(len(wanted)))
        assert text.lower() == wanted and card.mmio_read(IDENTIFIER + 4 * len(wanted)) == 0


def test_each_access_is_one_tlp_with_exact_byte_enables(start_board):
    """An aligned host access of 1, 2, 4 or 8 bytes is one TLP, whose byte enables cover exactly
    these bytes."""
    accesses = [(MEMORY_BASES[0] + at, count) for at, count in natural_accesses(16)]
    expected = []
    with start_board(log=True) as board:
        card = board.card()
        for offset, count in accesses:
            card.mmio_write(offset, 0xA5, count, posted=False)
            expected.append(("MWr", *expected_tlp(offset, count)))
            card.mmio_read(offset, count)
            expected.append(("MRd", *expected_tlp(offset, count)))
    seen = [(t.kind, t.address, t.dwords, t.enables) for t in board.tlps().on("CQ")]
    assert seen == expected


def test_a_write_burst_goes_back_to_back(start_board):
    """The host writes of one vfio-user message appear on CQ in their order, at most 40 ns apart."""
    writes = [(MEMORY_BASES[0] + 4 * i, bytes([i] * 4)) for i in range(64)]
    with start_board(log=True) as board:
        card = board.card()
        card.client.write_multi(writes)
        assert [card.mmio_read(at) for at, _ in writes] == [i * 0x01010101 for i in range(64)]
    burst = board.tlps().on("CQ", "MWr")
    assert [t.address for t in burst] == [BAR0_ADDRESS + at for at, _ in writes]
    gaps = [b.ns - a.ns for a, b in zip(burst, burst[1:])]
    assert max(gaps) <= 40, f"up to {max(gaps)} ns between two writes of a burst"


@pytest.mark.parametrize("credits", [1, 32])
def test_many_reads_in_flight_are_all_answered(start_board, credits):
    """A client may send 1000 reads before the first is answered. Each read gets its own data."""
    with start_board("--np-credits", credits, "--mmio-rtt", 100_000) as board:
        card = board.card()
        for i in range(IN_FLIGHT):
            card.mmio_write(MEMORY_BASES[0] + 4 * i, i)
        answers = card.client.read_many(
            BAR0, range(MEMORY_BASES[0], MEMORY_BASES[0] + 4 * IN_FLIGHT, 4), 4
        )
        assert [int.from_bytes(a, "little") for a in answers] == list(range(IN_FLIGHT))
        assert board.stats()["mmio_errors"] == 0


def test_reads_without_an_answer_in_the_gateware_do_not_time_out(start_board):
    """Host reads of an address where the card has nothing are all completed by the gateware. None
    of them waits for the host's completion timeout."""
    with start_board(log=True) as board:
        card = board.card()
        card.client.read_many(BAR0, range(0x1C000, 0x1C000 + 4 * IN_FLIGHT, 4), 4)
        assert board.stats()["completion_timeouts"] == 0
    assert len(board.tlps().on("CC")) == IN_FLIGHT


def test_an_access_without_memory_space_reaches_nobody(start_board):
    """While memory space is disabled, a host read gives all ones and a host write is lost. The
    board counts both, and neither reaches the card."""
    with start_board(log=True) as board:
        card = board.card()
        card.config_write(0x04, 0, 2)
        assert card.mmio_read(4) == 0xFFFF_FFFF
        card.mmio_write(4, 1)
        card.config_write(0x04, 2, 2)
        assert card.read("ctrl_scratch") == SCRATCH_AT_RESET
        assert board.stats()["mmio_errors"] == 2
    assert len(board.tlps().on("CQ")) == 1


def test_memories_begin_with_the_contents_of_their_files(start_board, tmp_path):
    """If the gateware was built with a .hex and a .bin file, the two memories have the contents of
    these files after power on, and zeros behind them."""
    (tmp_path / "zero.hex").write_text("cafef00d\n00000001 // second\n")
    (tmp_path / "one.bin").write_bytes(bytes(range(8)))
    command = [sys.executable, "targets/sim.py", "--build", "--output-dir", tmp_path / "gateware"]
    files = ["--memory0", tmp_path / "zero.hex", "--memory1", tmp_path / "one.bin"]
    subprocess.run([*command, *files], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    program = build_board(tmp_path / "gateware", quiet=True)
    with start_board(program=program) as board:
        card = board.card()
        first, second = (card.memories[name]["base"] for name in ("memory0", "memory1"))
        assert [card.mmio_read(first + at) for at in (0, 4, 8)] == [0xCAFEF00D, 1, 0]
        assert [card.mmio_read(second + at) for at in (0, 4, 8)] == [0x03020100, 0x07060504, 0]
