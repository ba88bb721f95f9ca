# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of card/spi.py: the bits between the flash engine and the flash, at every speed."""

import random
import zlib

import pytest

from gateware.card.commands import (
    PROGRAM,
    READ,
    READ_PAIRS,
    Refusal,
)
from gateware.test.card.card_bench import APPLICATION, PAGE, SECTOR, CardBench
from tools.testing.seeds import each_seed


@each_seed(4)
def test_two_lines_bring_the_same_bytes(seed):
    """A read on two data lines brings the same bytes and the same CRC as one on one line, at every
    speed, and commands with one line before and after it work. The flash and the card never drive
    the same line.
    """
    rng, bench = random.Random(seed), CardBench(seed=seed)
    data = rng.randbytes(3 * PAGE)
    bench.chip.load(APPLICATION, data)
    for half in (2, 3, rng.randrange(4, 32)):
        bench.write("flash_clock", half | 3 << 8)
        for opcode in rng.sample([READ_PAIRS, READ_PAIRS, READ, READ_PAIRS], 4):
            start, length = rng.randrange(2 * PAGE), rng.randrange(1, PAGE + 1)
            assert bench.command(opcode, APPLICATION + start, length) == Refusal.NONE
            found = data[start : start + length]
            assert bench.page(length) == found
            assert bench.read("flash_crc") == zlib.crc32(found)
    bench.load_page(bytes(PAGE))
    assert bench.command(PROGRAM, APPLICATION, PAGE) == Refusal.NONE
    assert bench.chip.contents(APPLICATION, PAGE) == bytes(PAGE)
    assert bench.chip.broken == []


@pytest.mark.parametrize("half", [0, 2, 3, 31])
def test_a_slower_clock_reads_the_same(half):
    """SCK's half period may have any number of cycles. Fewer than two count as two."""
    bench = CardBench()
    data = random.Random(half).randbytes(64)
    bench.chip.load(APPLICATION, data)
    bench.write("flash_clock", half | 3 << 8)
    assert bench.crc(APPLICATION, 64) == zlib.crc32(data) and bench.page(64) == data


@pytest.mark.parametrize("opcode, byte", [(READ, 32), (READ_PAIRS, 16)])
def test_a_read_of_64_kib_keeps_up_with_sck(opcode, byte):
    """A CRC takes 32 cycles a byte at the fastest SCK, or 16 on two lines, and less than 1 %
    more.
    """
    bench = CardBench()
    before = bench.nanoseconds
    assert bench.command(opcode, APPLICATION, SECTOR) == Refusal.NONE
    assert bench.read("flash_crc") == zlib.crc32(b"\xff" * SECTOR)
    cycles = (bench.nanoseconds - before) // 4
    assert byte * SECTOR < cycles < 1.01 * byte * SECTOR
