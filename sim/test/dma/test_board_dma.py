# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""DMA moves the right bytes to the right places with all sizes of TLPs, latencies and stalls.

Stock LitePCIe neither splits TLPs at 4 KiB nor takes lengths that are no multiple of its 32-byte
word. The descriptors of this file avoid both. test_stock_defects.py and test_board_bytes.py test
the descriptors that do not.
"""

import random

import pytest

from sim.test.board.board_client import (
    C2H_GENERATE,
    H2C_CHECK,
    HIGH_MEMORY,
    assert_same,
    pattern,
    slices,
    wait_until,
)
from tools.testing.seeds import each_seed

LOW_MEMORY = 0x1000_0000
PAGE = 4096
WORD = 32  # bytes of one beat of a DMA stream
STEP = 2 * PAGE  # bytes from one descriptor's buffer to the next in tests of odd lengths
TOTAL = 256 * 1024  # bytes of DMA that one test moves


def loopback(card, source, sink, h2c, c2h, data):
    """Send `data` from the memory `source` through the DMA's loopback, and wait until it is in the
    memory `sink`. `h2c` and `c2h` are the descriptors of the two directions."""
    source.data[: len(data)] = data
    sink.data[: len(data)] = bytes(len(data))
    card.write("pcie_dma0_loopback_enable", 1)
    card.program("h2c", h2c)
    card.program("c2h", c2h)
    card.start("c2h", "h2c")
    card.wait_data(sink, data)
    card.stop()


def run_loopback(start_board, rng, base, mps, mrrs, options, total=TOTAL):
    with start_board(*options) as board:
        card = board.card(mps=mps, mrrs=mrrs)
        source, sink = card.memory(base, total), card.memory(base + 2 * total, total)
        data = rng.randbytes(total)
        pieces = slices(base, total, 8192), slices(sink.address, total, 8192)
        loopback(card, source, sink, *pieces, data)
        stats = board.stats()
        assert (stats["mps"], stats["mrrs"]) == (mps, mrrs)
        assert stats["rc"]["payload_bytes"] == stats["rq"]["payload_bytes"] == total
        assert stats["unmapped"] == 0


@pytest.mark.parametrize("mrrs", [128, 256, 512])
@pytest.mark.parametrize("mps", [128, 256, 512])
@each_seed(1)
def test_every_payload_and_request_size(start_board, mps, mrrs, seed):
    """Random data comes back unchanged through the card's loopback at every pair of MPS and
    MRRS."""
    run_loopback(start_board, random.Random(seed), HIGH_MEMORY, mps, mrrs, [])


@pytest.mark.parametrize("base", [LOW_MEMORY, HIGH_MEMORY, 0x7F_8000_0000_0000])
@each_seed(1)
def test_below_and_above_4_gib(start_board, base, seed):
    """DMA reaches host addresses of 29, 33 and 55 bits in both directions."""
    run_loopback(start_board, random.Random(seed), base, 256, 512, [])


@pytest.mark.parametrize("size", [64, 128, 256, 512])
@pytest.mark.parametrize("latency", [0, 600, 2000])
@each_seed(1)
def test_every_completion_size_and_latency(start_board, size, latency, seed):
    """Random data comes back unchanged through the card's loopback for every --completion-size and
    --read-latency."""
    options = ["--completion-size", size, "--read-latency", latency]
    # Stock LitePCIe's endpoint would fail this test: it does not take 64-byte completions as fast
    # as they come (test_stock_defects.py).
    run_loopback(start_board, random.Random(seed), HIGH_MEMORY, 512, 512, options)


@pytest.mark.parametrize("stall", [20, 60])
@each_seed(4)
def test_random_stalls(start_board, stall, seed):
    """Random data comes back unchanged when the hard block, at random, is not ready or shows no new
    TLP."""
    options = ["--stall", stall, "--seed", seed]
    run_loopback(start_board, random.Random(seed), HIGH_MEMORY, 256, 512, options)


@each_seed(24)
def test_everything_at_random(start_board, seed):
    """Random data in random descriptors comes back unchanged when the options of the host are
    random, too."""
    rng = random.Random(seed)
    mps, mrrs = rng.choice([128, 256, 512]), rng.choice([128, 256, 512])
    options = [
        "--seed",
        seed,
        "--stall",
        rng.choice([0, 20, 60]),
        "--rcb",
        rng.choice([64, 128]),
        "--completion-size",
        rng.choice([0, 128, 256, 512]),
        "--read-latency",
        rng.choice([0, 100, 600, 2000]),
        "--np-credits",
        rng.choice([1, 32]),
    ]
    base = rng.choice([LOW_MEMORY, HIGH_MEMORY])
    print(f"mps {mps} mrrs {mrrs} base {base:#x}", *options)
    with start_board(*options) as board:
        card = board.card(mps=mps, mrrs=mrrs)
        source, sink = card.memory(base, TOTAL), card.memory(base + 2 * TOTAL, TOTAL)
        for _ in range(3):
            total = rng.randrange(WORD, TOTAL + 1, WORD)
            pieces = [slices(m.address, total, PAGE * rng.randint(1, 4)) for m in (source, sink)]
            loopback(card, source, sink, *pieces, rng.randbytes(total))


@pytest.mark.parametrize("words", [1, 2, 3, 7, 8, 9, 15, 16, 17, 127, 128, 129, 255])
@each_seed(1)
def test_odd_lengths(start_board, words, seed):
    """A descriptor of any number of 32-byte words moves exactly these words and changes no other
    byte."""
    length, rng = words * WORD, random.Random(1000 * seed + words)
    with start_board() as board:
        card = board.card()
        source, sink = card.memory(HIGH_MEMORY, STEP * 3), card.memory(LOW_MEMORY, STEP * 3)
        sink.data[:] = b"\x5a" * sink.size
        data = rng.randbytes(3 * length)
        for i in range(3):
            source.data[i * STEP : i * STEP + length] = data[i * length : (i + 1) * length]
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", [(HIGH_MEMORY + i * STEP, length) for i in range(3)])
        card.program("c2h", [(LOW_MEMORY + i * STEP, length) for i in range(3)])
        card.start("c2h", "h2c")
        # `rest` is the memory behind the c2h data of a descriptor, which DMA must leave unchanged.
        rest = b"\x5a" * (STEP - length)
        pieces = [data[i * length : (i + 1) * length] for i in range(3)]
        card.wait_data(sink, rest.join(pieces) + rest)


@each_seed(1)
def test_user_slot_returns_what_it_is_sent(start_board, seed):
    """Without the DMA's loopback, h2c data goes to the user slot. The slot's default logic sends it
    back by c2h."""
    data = random.Random(seed).randbytes(TOTAL)
    with start_board() as board:
        card = board.card()
        source, sink = card.memory(HIGH_MEMORY, TOTAL), card.memory(LOW_MEMORY, TOTAL)
        source.data[:] = data
        card.program("h2c", slices(HIGH_MEMORY, TOTAL, 8192))
        card.program("c2h", slices(LOW_MEMORY, TOTAL, 8192))
        card.start("c2h", "h2c")
        card.wait_data(sink, data)


@pytest.mark.parametrize("stall", [0, 60])
def test_both_directions_at_once(start_board, stall):
    """h2c and c2h run at the same time with independent data, and both data are right."""
    with start_board("--stall", stall) as board:
        card = board.card()
        source, sink = card.memory(HIGH_MEMORY, TOTAL), card.memory(LOW_MEMORY, TOTAL)
        source.data[:] = pattern(TOTAL)
        card.write("pattern_control", C2H_GENERATE | H2C_CHECK)
        card.program("h2c", slices(HIGH_MEMORY, TOTAL, 8192))
        card.program("c2h", slices(LOW_MEMORY, TOTAL, 8192))
        card.start("c2h", "h2c")
        assert card.h2c_check(TOTAL // WORD) == 0
        card.wait_data(sink, pattern(TOTAL))


@pytest.mark.parametrize("mps", [128, 256, 512])
def test_c2h_pattern(start_board, mps):
    """The pattern that the card's generator makes arrives in host memory from dword 0 on, in order
    and without a gap."""
    with start_board() as board:
        card = board.card(mps=mps)
        memory = card.memory(HIGH_MEMORY, TOTAL)
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", slices(HIGH_MEMORY, TOTAL, 8192))
        card.start("c2h")
        card.wait_data(memory, pattern(TOTAL))


@each_seed(1)
def test_h2c_pattern_is_checked_in_the_gateware(start_board, seed):
    """The gateware's checker finds no wrong beat in a right h2c pattern. After one bit in host
    memory was flipped, it finds exactly the beat with that bit wrong."""
    rng = random.Random(seed)
    with start_board() as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, TOTAL)

        def wrong_beats():
            card.write("pattern_control", H2C_CHECK)
            card.program("h2c", slices(HIGH_MEMORY, TOTAL, 8192))
            card.start("h2c")
            wrong = card.h2c_check(TOTAL // WORD)
            first = card.read("pattern_h2c_first_error")
            card.stop()
            return wrong, first

        memory.data[:] = pattern(TOTAL)
        assert wrong_beats()[0] == 0
        at = rng.randrange(TOTAL)
        memory.data[at] ^= 1 << rng.randrange(8)
        assert wrong_beats() == (1, at // WORD)


@each_seed(2)
def test_many_small_windows(start_board, seed):
    """DMA is right in both directions when each 4 KiB page of bus addresses is mapped to another
    place of the client's file."""
    rng = random.Random(seed)
    pages = 64
    with start_board() as board:
        card = board.card(mps=512)
        file, sink = (
            card.memory(LOW_MEMORY, pages * PAGE),
            card.memory(2 * LOW_MEMORY, pages * PAGE),
        )
        order = rng.sample(range(pages), pages)
        for page, at in enumerate(order):
            card.client.map(HIGH_MEMORY + page * PAGE, PAGE, file.fd, at * PAGE)
        data = rng.randbytes(pages * PAGE)
        for page, at in enumerate(order):
            file.data[at * PAGE : (at + 1) * PAGE] = data[page * PAGE : (page + 1) * PAGE]
        descriptors = (
            slices(HIGH_MEMORY, pages * PAGE, 8192),
            slices(sink.address, pages * PAGE, PAGE),
        )
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", descriptors[0])
        card.program("c2h", descriptors[1])
        card.start("c2h", "h2c")
        card.wait_data(sink, data)
        card.stop()

        # In the second transfer h2c reads contiguous memory, and c2h writes into the scattered
        # pages.
        data = rng.randbytes(pages * PAGE)
        sink.data[:] = data
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", descriptors[1])
        card.program("c2h", descriptors[0])
        card.start("c2h", "h2c")

        def gathered():
            return b"".join(file.data[at * PAGE : (at + 1) * PAGE] for at in order)

        wait_until(lambda: gathered() == data, "the scattered pages")


@each_seed(1)
def test_a_tlp_across_windows(start_board, seed):
    """A TLP of 512 bytes reaches the right bytes although it spans eight mappings of 64 bytes
    each."""
    data = random.Random(seed).randbytes(PAGE)
    with start_board() as board:
        card = board.card(mps=512)
        file, sink = card.memory(LOW_MEMORY, PAGE), card.memory(2 * LOW_MEMORY, PAGE)
        # Pieces of 64 bytes of the bus addresses are mapped to the client's file in reverse order.
        for at in range(0, PAGE, 64):
            card.client.map(HIGH_MEMORY + at, 64, file.fd, PAGE - 64 - at)
            file.data[PAGE - 64 - at : PAGE - at] = data[at : at + 64]
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", [(HIGH_MEMORY, PAGE)])
        card.program("c2h", [(sink.address, PAGE)])
        card.start("c2h", "h2c")
        card.wait_data(sink, data)
        assert_same(sink.data[:], data)
