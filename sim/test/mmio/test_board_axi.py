# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The AXI4 bus of the user slot, which the host reaches in BAR2. Behind it is a memory that takes
50 cycles for a read.

The tests make accesses of every kind, and measure the rate and the latency of reads.
"""

import random
import struct

import pytest

from gateware import numbers
from gateware.observe.capability import BLOCK_TYPES, HEADER_WORDS
from gateware.user.axi_memory import SIZE
from sim import artefacts
from sim.endpoints import DEFAULT
from sim.examples import AXI50
from sim.rows import idle_reads, limits, peer
from sim.rows.measure import Conditions
from sim.test.board.board_client import wait_until
from sim.test.board.board_process import WatchedBoard
from tools.testing.seeds import each_seed

BAR2, BAR2_REGISTER, BAR2_ADDRESS = 2, 0x18, 0xF000_0000
WINDOW = peer.Place(2, numbers.AXI_BASE)
LONGEST, PAGE = 600, 4096  # bytes of the longest access that a test makes, and of a page
BLOCKED_WRITES = 8000  # number of host writes of 64 bytes, which together take 24,000 cycles on CQ


@pytest.fixture(scope="module")
def slow():
    """Build gateware with a slow AXI memory in its user slot, and the board with this gateware."""
    return artefacts.build(DEFAULT, AXI50)


@pytest.fixture
def bar(slow):
    with peer.Bar(slow.board, slow.gateware / "csr.json", Conditions(user=AXI50.name)) as bar:
        yield bar


@each_seed(2)
@pytest.mark.parametrize("stall", [0, 50])
def test_any_access_finds_what_was_written(slow, stall, seed):
    """Host accesses of any size at any offset of the AXI4 memory, also across pages, agree with a
    copy that the test keeps of every byte."""
    rng = random.Random(seed)
    options = ["--stall", str(stall), "--seed", str(seed), "--mps", rng.choice(["128", "512"])]
    model = bytearray(SIZE)
    with WatchedBoard(slow.board, {}, options, None) as board:
        client = board.connect()
        for offset, value, count in ((BAR2_REGISTER, BAR2_ADDRESS, 4), (0x04, 0x6, 2)):
            client.write(peer.CONFIG, offset, value.to_bytes(count, "little"))
        for page in range(0, SIZE, PAGE):
            client.write(BAR2, numbers.AXI_BASE + page, bytes(PAGE))
        for _ in range(150):
            count = rng.choice([1, 2, 3, 4, 8, 64, rng.randint(1, LONGEST)])
            near = PAGE * rng.randint(1, 3) - rng.randint(0, 80)
            at = rng.choice([near, rng.randrange(SIZE - LONGEST)])
            if rng.random() < 0.5:
                model[at : at + count] = data = rng.randbytes(count)
                client.write(BAR2, numbers.AXI_BASE + at, data, posted=True)
            else:
                assert client.read(BAR2, numbers.AXI_BASE + at, count) == model[at : at + count]
        for page in range(0, SIZE, PAGE):
            data = client.read(BAR2, numbers.AXI_BASE + page, PAGE)
            assert data == model[page : page + PAGE]


@pytest.mark.parametrize("size", [64, 128, 256])
def test_a_memory_of_50_cycles_is_read_at_the_limit(bar, size):
    """With 32 reads in flight, reads of a memory that takes 50 cycles for each reach 95 % or more
    of the limit of the CC interface."""
    entry = bar.read_row("p2p_read_axi50", WINDOW, size, limits.cc(size, 256))
    assert entry.ratio >= 0.95 and entry.violations == 0


def test_with_one_credit_the_latency_shows(bar):
    """With one read in flight, a read of the slow memory takes 50 cycles more than a read of block
    memory takes. So the bridge prefetches nothing."""
    peer.set_credits(bar, 1)
    bar.fill(WINDOW, 64)
    rate, _ = bar.run("read", WINDOW, 64, 1000)
    peer.set_credits(bar, peer.CREDITS)
    assert 50 + 10 <= 64 / rate / limits.CYCLE_NS <= 50 + 20


def test_32_blocked_reads_hold_up_no_write(slow):
    """While the card holds 32 unanswered host reads, the most that it accepts, posted writes keep
    their rate and the card never stalls CQ."""
    with peer.Bar(slow.board, slow.gateware / "csr.json", Conditions()) as bar:
        free, stats = bar.run("write", bar.memory, 64, BLOCKED_WRITES)
        assert stats["cq"]["stalls"] == 0
        bar.register("user_hold", 1)
        # Wait until this register write has reached CQ. The counts are then cleared, so that they
        # count only the reads.
        wait_until(lambda: bar.board.stats()["cq"]["tlps"] == BLOCKED_WRITES + 1, "the write")
        # The bridge ends a read as failed if the bus does not answer it for 65,536 cycles. At this
        # pace these cycles do not pass during the test.
        bar.board.command("set pace 100000")
        bar.board.command("clear")
        reads = [bar.client.send_read(2, WINDOW.offset + 64 * n, 8) for n in range(peer.CREDITS)]
        wait_until(lambda: bar.board.stats()["cq"]["tlps"] == peer.CREDITS, "the reads")
        blocked, stats = bar.run("write", bar.memory, 64, BLOCKED_WRITES)
        bar.board.command("set pace 0")
        bar.register("user_hold", 0)
        assert stats["cc"]["tlps"] == 0, "no held read may be answered"
        assert stats["cq"]["stalls"] == 0 and blocked == pytest.approx(free, rel=0.002)
        for number in reads:
            bar.client.reply(number)
        assert bar.client.read(0, bar.csr["csr_registers"]["mmio_reads"]["addr"], 4) != bytes(4)
        assert bar.client.read(0, bar.csr["csr_registers"]["mmio_aborted"]["addr"], 4) == bytes(4)


def test_the_capability_table_names_the_window(bar):
    """The card's capability table has a block for the AXI4 bus, with its BAR, offset and size. So
    software can find the bus."""
    table = bar.client.read(0, numbers.CAPABILITY_BASE, PAGE)
    words = struct.unpack(f"<{PAGE // 4}I", table)
    at, found = HEADER_WORDS, []
    while words[at]:
        if words[at] & 0xFFFF == BLOCK_TYPES["user_window"].number:
            found.append((words[at + 1] >> 16 & 0xFF, words[at + 2], words[at + 3]))
        at += (words[at + 1] & 0xFFFF) // 4
    assert found == [(2, numbers.AXI_BASE, numbers.AXI_SIZE)]


def test_an_idle_card_answers_in_few_cycles(slow):
    """With the AXI4 bus in the gateware, an idle card answers a host read in as few cycles as
    without it."""
    rows = {
        entry.id: entry
        for entry in idle_reads.rows(slow.board, slow.gateware / "csr.json", Conditions())
    }
    assert rows["mmio_read_cycles/bram"].value == rows["mmio_read_cycles/identity"].value == 5
    assert rows["mmio_read_cycles/uram"].value == 7
    assert rows["mmio_read_cycles/csr"].value == 8


def test_the_memory_makes_no_registers(bar):
    """The memory in the user slot is reached over the AXI4 bus only. It adds no registers to
    csr.json except `user_hold`."""
    names = [name for name in bar.csr["csr_registers"] if name.startswith("user_")]
    assert names == ["user_hold"]
