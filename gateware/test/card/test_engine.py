# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of card/engine.py, card/flash.py and vocabulary/crc.py: the flash engine at the board's
flash.
"""

import random
import zlib

import pytest

from gateware.card.commands import (
    ERASE_SECTOR,
    ERASE_SUBSECTOR,
    IDENTIFY,
    PROGRAM,
    READ,
    READ_STATUS,
    Refusal,
)
from gateware.test.card.card_bench import APPLICATION, PAGE, SECTOR, CardBench
from tools.testing.seeds import each_seed


def test_the_engine_identifies_the_flash_by_itself():
    """After reset the engine reads the flash's identification, although the first clocks are lost.
    So a user who may not send commands can read it.
    """
    bench = CardBench()
    assert bench.read("flash_identification") == 0x20BB19
    assert bench.chip.broken == [] and bench.status() == (0, 0, 0, 0)


def test_an_identification_is_read_into_the_page_buffer():
    """The data of a flash read is in the page buffer, in the order in which the flash sent it."""
    bench = CardBench()
    assert bench.command(IDENTIFY, length=4) == Refusal.NONE
    assert bench.page(4) == bytes([0x20, 0xBB, 0x19, 0x10])


@each_seed(4)
def test_a_page_is_programmed_and_read(seed):
    """A program command writes the first `length` bytes of the page buffer, clears bits only, and
    stays in its page. A read brings back as many bytes as are asked for, and the CRC of all.
    """
    rng, bench = random.Random(seed), CardBench(seed=seed)
    expected = bytearray(b"\xff" * 4 * PAGE)
    for _ in range(20):
        data, length = rng.randbytes(PAGE), rng.choice([1, 2, PAGE - 1, PAGE])
        page, at = rng.randrange(4) * PAGE, rng.choice([0, 0, rng.randrange(PAGE)])
        bench.load_page(data)
        assert bench.command(PROGRAM, APPLICATION + page + at, length) == Refusal.NONE
        for n in range(length):
            expected[page + (at + n) % PAGE] &= data[n]
    assert bench.chip.contents(APPLICATION, 4 * PAGE) == expected
    for _ in range(10):
        start, length = rng.randrange(3 * PAGE), rng.randrange(1, PAGE + 1)
        found = bytes(expected[start : start + length])
        assert bench.crc(APPLICATION + start, length) == zlib.crc32(found)
        assert bench.page(length) == found
    assert bench.chip.broken == []


def test_the_next_page_is_filled_while_one_is_programmed():
    """Software may fill the page buffer as soon as a program command has begun. A refused command
    leaves the page buffer as it is.
    """
    bench, rng = CardBench(), random.Random(1)
    pages = [rng.randbytes(PAGE) for _ in range(8)]
    bench.write("flash_length", PAGE)
    for n, page in enumerate(pages):
        bench.load_page(page)
        assert n == 0 or bench.status()[0] == 1, "the engine was idle before the page was filled"
        bench.wait()
        if n == 4:
            assert bench.command(PROGRAM, 0) == Refusal.OUTSIDE
        bench.start(PROGRAM, APPLICATION + n * PAGE)
    bench.wait()
    assert bench.chip.contents(APPLICATION, 8 * PAGE) == b"".join(pages)


@pytest.mark.parametrize("words", [1, 63])
def test_a_command_ends_the_filling_of_a_page(words):
    """A command sets the place in the page buffer to its beginning, wherever software has left it.
    So a page that was not filled or read to its end does not shift the next one.
    """
    bench, data = CardBench(), random.Random(words).randbytes(PAGE)
    bench.load_page(bytes(4 * words))
    assert bench.command(IDENTIFY, length=3) == Refusal.NONE
    bench.load_page(data)
    assert bench.command(PROGRAM, APPLICATION, PAGE) == Refusal.NONE
    assert bench.chip.contents(APPLICATION, PAGE) == data
    for _ in range(words):
        bench.read("flash_page_data")
    assert bench.command(READ, APPLICATION, PAGE) == Refusal.NONE
    assert bench.read("flash_page_data") == int.from_bytes(data[:4], "little")


def test_an_erase_takes_its_sector_alone():
    """An erase command sets its own 4 or 64 KiB to ones, and nothing beside them."""
    bench = CardBench()
    for opcode, size in ((ERASE_SUBSECTOR, 4096), (ERASE_SECTOR, SECTOR)):
        first = APPLICATION + 5 * SECTOR
        bench.chip.load(first - 1, bytes(size + 2))
        assert bench.command(opcode, first + size // 3) == Refusal.NONE
        assert bench.chip.contents(first - 1, size + 2) == b"\0" + b"\xff" * size + b"\0"
    assert bench.chip.broken == []


def test_a_page_takes_67_accesses_and_a_look_at_the_status():
    """To program a page by the flash engine, software needs at most 70 accesses to registers, with
    all reads of the status.
    """
    bench = CardBench()
    bench.write("flash_length", PAGE)
    before = bench.accesses
    bench.load_page(bytes(PAGE))
    bench.start(PROGRAM, APPLICATION)
    assert bench.accesses - before == 66
    bench.run(100000)
    assert bench.status()[0] == 0 and bench.accesses - before <= 70


def test_a_command_while_another_runs_is_refused():
    """A flash command that comes while another runs is refused and counted. The other goes on."""
    bench = CardBench()
    bench.start(ERASE_SUBSECTOR, APPLICATION)
    bench.write("flash_command", READ_STATUS)
    assert bench.status()[:3] == (1, 0, Refusal.BUSY)
    bench.wait()
    assert bench.read("flash_refusals") == 1 and bench.chip.erased == [APPLICATION]


def test_waiting_can_be_stopped():
    """`stop` ends the waiting for a flash that does not become ready. A change that had not begun
    is not sent.
    """
    bench = CardBench(divisor=1)
    bench.start(ERASE_SUBSECTOR, APPLICATION)
    bench.run(10000)
    for _ in range(2):
        bench.write("flash_command", 1 << 8)
        bench.wait(most=2000)
        bench.start(ERASE_SUBSECTOR, APPLICATION + 4096)
        bench.run(10000)
    assert bench.status()[0] == 1 and bench.chip.erased == [] and bench.chip.broken == []


def test_a_reset_during_an_erase_is_waited_for():
    """A reset of the card's logic does not stop an erase. The engine is busy until the flash is
    ready, and identifies it then.
    """
    bench = CardBench()
    bench.start(ERASE_SECTOR, APPLICATION)
    bench.run(5000)
    bench.reset()
    assert bench.read("flash_identification") == 0
    bench.wait()
    assert bench.read("flash_identification") == 0x20BB19
    assert bench.chip.erased == [APPLICATION] and bench.chip.broken == []


@each_seed(20)
def test_a_reset_at_any_time_leaves_the_flash_whole(seed):
    """A reset at any moment of an update changes nothing outside the page or sector that was being
    changed, and the next command works.
    """
    rng, bench = random.Random(seed), CardBench(seed=seed)
    bench.chip.load(0, b"golden")
    bench.load_page(rng.randbytes(PAGE))
    bench.start(rng.choice([PROGRAM, ERASE_SUBSECTOR]), APPLICATION + 4096, PAGE)
    bench.run(rng.randrange(20000))
    bench.reset()
    bench.wait()
    assert bench.chip.contents(0, 6) == b"golden"
    assert bench.chip.contents(APPLICATION, 4096) == b"\xff" * 4096
    assert bench.command(ERASE_SUBSECTOR, APPLICATION + 4096) == Refusal.NONE
    assert bench.chip.contents(APPLICATION + 4096, PAGE) == b"\xff" * PAGE
    assert bench.chip.broken == []
