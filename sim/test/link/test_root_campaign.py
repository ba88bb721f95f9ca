# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Random campaigns: the real gateware, and a host that answers late, in pieces and out of order.

In each round random numbers choose the host's latencies, splits and stalls, and the descriptors.
They come from the test's seed, which LANEBOX_SEED shifts. After each round all bytes of host memory
are compared with the expected ones.
"""

import random
import time

import pytest

from sim.test.board.board_client import HIGH_MEMORY, assert_same, wait_until
from tools.testing.seeds import SHIFT, each_seed

PAGE = 4096
WORD = 32
TOTAL = 2 << 20  # bytes of the source buffer of h2c, and of the sink buffer of c2h
# cycles after which even a host that stalls has stored every write that left the pins
SETTLED = 100_000
# cycles that one round may take: 40 ms, twenty times as long as the slowest host needs
LONGEST = 10_000_000
# Seconds of wall time that one round may take. They are generous, since LONGEST decides that a
# round takes too long.
WALL = 170
TLPS, SOAK_TLPS = 50_000, 1_000_000
# seconds of wall time after which a campaign of random rounds begins no further round
PATIENCE = 1200


def host(rng):
    """Return the settings of one random host, as [(name of the board's option, value)]."""
    low = rng.choice([0, 100, 600])
    latency = rng.choice([str(low), f"uniform:{low}:{low + rng.choice([50, 500, 3000])}"])
    return [
        ("read-latency", latency),
        ("iommu-miss", rng.choice(["0:0", "1:2000", "10:500"])),
        ("split", rng.choice(["rcb", "mps", "random", "random"])),
        ("stall", rng.choice(["0", "0", "20", "60"])),
        ("reorder", rng.choice(["on", "on", "off"])),
        ("write-stall", rng.choice(["0:0", "0:0", "0.1:20000", "2:1000"])),
    ]


def pieces(rng, address, total):
    """Return descriptors for `total` bytes from `address` on, as [(address, bytes)]. Each has two
    to four whole pages, the last one what is left."""
    found, at = [], 0
    while at < total:
        size = min(PAGE * rng.randint(2, 4), total - at)
        found.append((address + at, size))
        at += size
    return found


class Campaign:
    """Runs rounds on a board and its card. Each round moves random bytes from the source buffer
    through the card (h2c looped back to c2h) to the sink buffer. `image` is the expected content of
    the sink buffer.
    """

    def __init__(self, board, rng, mps, mrrs):
        self.board, self.rng = board, rng
        # The peer's jobs have a random generator of their own: when a job ends depends on wall
        # time, and must not change what the rounds draw.
        self.peer_rng = random.Random(SHIFT)
        self.card = board.card(mps=mps, mrrs=mrrs)
        self.source = self.card.memory(HIGH_MEMORY, TOTAL)
        self.sink = self.card.memory(HIGH_MEMORY + 2 * TOTAL, TOTAL)
        self.image = bytearray(TOTAL)
        self.moved = 0

    def peer(self):
        """Start the next job of the peer, another PCIe device that accesses the card's BAR0.

        Its first job writes a page, all later ones read the page and compare. Any error, mismatch
        or timeout so far fails the test.
        """
        counts = self.board.stats()["peer"]
        wrong = [counts[name] for name in ("errors", "mismatches", "timeouts")]
        assert wrong == [0, 0, 0], f"the peer: {counts}"
        if counts["busy"]:
            return
        # The peer's first job writes the page of the card's memory that its later jobs read.
        verb = "read" if counts["issued"] else "write"
        count, tags, gap = (
            self.peer_rng.choice(c) for c in ([1024, 5000], [1, 8, 64], [0, 100, 2000])
        )
        self.board.command(f"peer {verb} 0x10000 4 {count} {tags} {gap}")

    def wait(self, before, total, settings):
        """Wait until the card has sent `total` bytes of payload on RQ since the board's counts
        `before`."""

        def moved():
            stats = self.board.stats()
            took = stats["cycles"] - before["cycles"]
            assert took < LONGEST, f"{total} bytes with {settings}: not after {took} cycles"
            return stats["rq"]["payload_bytes"] - before["rq"]["payload_bytes"] >= total

        wait_until(moved, f"{total} bytes through the card with {settings}", WALL)

    def round(self, total, settings=None):
        rng, card = self.rng, self.card
        settings = host(rng) if settings is None else settings
        for name, value in settings:
            self.board.set(name, value)
        first = rng.randrange(0, TOTAL - total + 1, PAGE)
        to = rng.randrange(0, TOTAL - total + 1, PAGE)
        data = rng.randbytes(total)
        self.source.data[first : first + total] = data
        self.image[to : to + total] = data
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", pieces(rng, self.source.address + first, total), "none")
        card.program("c2h", pieces(rng, self.sink.address + to, total), "none")
        self.peer()
        before = self.board.stats()
        card.start("c2h", "h2c")
        self.wait(before, total, settings)
        end = bytes(self.image[to : to + total])
        until = self.board.stats()["cycles"] + SETTLED
        wait_until(
            lambda: self.sink.data[to : to + total] == end or self.board.has_passed(until),
            "the bytes on their way to host memory",
        )
        card.stop()
        try:
            assert_same(self.sink.data[:], bytes(self.image))
        except AssertionError as error:
            raise AssertionError(f"with {settings}: {error}") from None
        self.moved += total


def campaign(start_board, seed, tlps, **sizes):
    """Run rounds until `tlps` TLPs have passed RQ and as many RC. Returns both counts.

    After PATIENCE seconds no further round begins. That ends a campaign without progress; it is
    long enough that a busy machine does not shorten one.
    """
    rng = random.Random(seed)
    mps = sizes.get("mps") or rng.choice([128, 256, 512])
    mrrs = sizes.get("mrrs") or rng.choice([128, 256, 512])
    options = ["--seed", seed, "--rules", "warn", *sizes.get("options", [])]
    print(f"seed {seed}, mps {mps}, mrrs {mrrs}", *options)
    deadline = time.monotonic() + PATIENCE
    with start_board(*options, violations=None) as board:
        run = Campaign(board, rng, mps, mrrs)
        while time.monotonic() < deadline:
            run.round(rng.randrange(64 * 1024, TOTAL + 1, PAGE))
            stats = board.stats()
            sent, answered = stats["rq"]["tlps"], stats["rc"]["tlps"]
            if min(sent, answered) >= tlps:
                break
        assert stats["violations"] == {}
        assert stats["unmapped"] == 0
    print(f"{run.moved >> 20} MiB, {sent} TLPs on RQ, {answered} on RC, {stats['cycles']} cycles")
    return sent, answered


@each_seed(1)
def test_everything_at_random(start_board, seed):
    """With random latencies, splits and stalls of the host, every byte of the sink buffer is right
    after every round, for 50,000 TLPs each way."""
    sent, answered = campaign(start_board, seed, TLPS)
    assert min(sent, answered) >= TLPS


@pytest.mark.soak
@each_seed(1)
def test_a_million_tlps_each_way(start_board, seed):
    """With random latencies, splits and stalls of the host, every byte of the sink buffer is right
    after every round, for a million TLPs each way at MPS and MRRS 128."""
    sent, answered = campaign(start_board, seed, SOAK_TLPS, mps=128, mrrs=128)
    assert min(sent, answered) >= SOAK_TLPS


def test_the_campaign_notices_one_bit(start_board):
    """One flipped bit in one completion makes the campaign fail, with a message that one byte
    differs."""
    with pytest.raises(AssertionError, match="1 of .* bytes differ"):
        campaign(start_board, 1, TLPS, options=["--fault", "flip-h2c:5000"])


@each_seed(2)
def test_answers_out_of_order_are_put_in_order(start_board, seed):
    """When completions of different reads overtake each other and interleave, the h2c channel still
    delivers its data in order."""
    options = ["--seed", seed, "--read-latency", "uniform:200:3000", "--split", "rcb"]
    with start_board(*options, "--rules", "warn", log=True, violations=None) as board:
        rng = random.Random(seed)
        run = Campaign(board, rng, 256, 512)
        run.round(64 * 1024, settings=[])
    log = board.tlps()
    asked = [t.tag for t in log.on("RQ", "MRd")]
    ended = [t.tag for t in log.on("RC") if t.byte_count == 4 * t.dwords]
    changes = sum(a.tag != b.tag for a, b in zip(log.on("RC"), log.on("RC")[1:]))
    print(f"{len(asked)} reads, {sum(a != b for a, b in zip(asked, ended))} not in their turn")
    assert sorted(asked) == sorted(ended) and asked != ended
    assert changes > 2 * len(asked), "completions of different reads do not interleave"
