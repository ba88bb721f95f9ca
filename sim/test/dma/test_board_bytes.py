# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""DMA of buffers with any number of bytes at any address, in both directions.

Each test compares all of its host memory with what the memory must hold, so that a byte that is
written outside a buffer is noticed.
"""

import random

import pytest

from sim.test.board.board_client import HIGH_MEMORY, assert_same, wait_until
from tools.testing.seeds import each_seed

LOW_MEMORY = 0x1000_0000
PAGE = 4096
SLOT = 4 * PAGE  # bytes of host memory reserved for each buffer
COUNT = 64  # number of DMA buffers that a test moves
# Each byte of the host memory that c2h writes holds this value before DMA, so that a byte that DMA
# wrote is seen.
UNTOUCHED = 0x5A
LENGTHS = (1, 3, 4, 31, 32, 33, 64, 96, 127, 128, 255, 256, 508, 511, 512, 513, 1504, 4096, 4097)


def places(rng, base):
    """Yield the addresses of COUNT buffers, one in each SLOT of memory from `base` on. Their low
    bits are random, and most lie near the start or the end of a page."""
    for n in range(COUNT):
        inside = rng.choice([rng.randrange(PAGE), PAGE - rng.randrange(1, 40), rng.randrange(4)])
        yield base + n * SLOT + inside


@pytest.mark.parametrize("stall", [0, 30])
@each_seed(10)
def test_any_bytes_from_anywhere_to_anywhere(start_board, stall, seed):
    """DMA through the card's loopback copies buffers of any length from any address to any other,
    and changes no other byte."""
    rng = random.Random(seed)
    mps, mrrs = rng.choice([128, 256, 512]), rng.choice([128, 256, 512])
    options = [
        "--seed",
        seed,
        "--stall",
        stall,
        "--rcb",
        rng.choice([64, 128]),
        "--read-latency",
        rng.choice([0, 600]),
    ]
    lengths = [rng.choice(LENGTHS) for _ in range(COUNT)]
    print(f"mps {mps} mrrs {mrrs} lengths {lengths}", *options)
    with start_board(*options) as board:
        card = board.card(mps=mps, mrrs=mrrs)
        source = card.memory(HIGH_MEMORY, COUNT * SLOT)
        sink = card.memory(LOW_MEMORY, COUNT * SLOT)
        source.data[:] = rng.randbytes(source.size)
        expected = bytearray([UNTOUCHED]) * sink.size
        sink.data[:] = expected
        h2c = list(zip(places(rng, source.address), lengths, strict=True))
        c2h = list(zip(places(rng, sink.address), lengths, strict=True))
        for (start, length), (address, _) in zip(h2c, c2h, strict=True):
            at, to = start - source.address, address - sink.address
            expected[to : to + length] = source.data[at : at + length]
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", h2c)
        card.program("c2h", c2h)
        card.start("c2h", "h2c")
        wait_until(lambda: card.read("pcie_dma0_writer_table_loop_status") == COUNT, "the end")
        assert_same(sink.data[:], bytes(expected))
        assert board.stats()["unmapped"] == 0


@each_seed(1)
def test_a_buffer_of_no_bytes_counts_and_writes_nothing(start_board, seed):
    """A c2h descriptor of no bytes is counted as done and writes nothing. The stream goes on in the
    next descriptor without losing a byte."""
    with start_board() as board:
        card = board.card()
        source, sink = card.memory(HIGH_MEMORY, PAGE), card.memory(LOW_MEMORY, PAGE)
        source.data[:] = random.Random(seed).randbytes(PAGE)
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", [(source.address, 64), (source.address + 64, 64)])
        card.program("c2h", [(sink.address, 64), (sink.address + 256, 0), (sink.address + 64, 64)])
        card.start("c2h", "h2c")
        wait_until(lambda: card.read("pcie_dma0_writer_table_loop_status") == 3, "the end")
        assert_same(sink.data[:], source.data[:128] + bytes(PAGE - 128))
