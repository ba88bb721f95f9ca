# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Random campaigns: the real gateware under a host that answers late, in pieces and out of order.

Every round draws the host's behaviour and the descriptors from the test's seed, which LANEBOX_SEED
shifts. All bytes of host memory are compared with an image of what they must be.
"""

import random
import time

import pytest
from board_client import HIGH_MEMORY, assert_same, wait_until
from seeds import each_seed

PAGE = 4096
WORD = 32
TOTAL = 2 << 20  # each of source and sink
SETTLED = 100_000  # cycles after which a host that stalls has taken all that passed the pins
LONGEST = 10_000_000  # cycles of a round: 40 ms, twenty times as long as the slowest host needs
WALL = 170  # seconds; generous, since only device time decides that a round takes too long
TLPS, SOAK_TLPS = 50_000, 1_000_000
PATIENCE = 1200  # seconds


def host(rng):
    """Settings of one host: [(live option, value)]."""
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
    """Descriptors that cover `total` bytes: whole pages, at most 256 of them."""
    found, at = [], 0
    while at < total:
        size = min(PAGE * rng.randint(2, 4), total - at)
        found.append((address + at, size))
        at += size
    return found


class Campaign:
    """A board, its card and an image of the sink. A round moves random bytes through the card."""

    def __init__(self, board, rng, mps, mrrs):
        self.board, self.rng = board, rng
        # A generator of its own: the peer's jobs end by wall time, and must not change the rounds.
        self.peer_rng = random.Random(0)
        self.card = board.card(mps=mps, mrrs=mrrs)
        self.source = self.card.memory(HIGH_MEMORY, TOTAL)
        self.sink = self.card.memory(HIGH_MEMORY + 2 * TOTAL, TOTAL)
        self.image = bytearray(TOTAL)
        self.moved = 0

    def peer(self):
        """Let another device read the card's memory and compare it with what it wrote there."""
        counts = self.board.stats()["peer"]
        wrong = [counts[name] for name in ("errors", "mismatches", "timeouts")]
        assert wrong == [0, 0, 0], f"the peer: {counts}"
        if counts["busy"]:
            return
        verb = "read" if counts["issued"] else "write"  # the first job fills the page
        count, tags, gap = (
            self.peer_rng.choice(c) for c in ([1024, 5000], [1, 8, 64], [0, 100, 2000])
        )
        self.board.command(f"peer {verb} 0x10000 4 {count} {tags} {gap}")

    def wait(self, before, total, settings):
        """Wait until `total` bytes have left the card."""

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
    """Rounds until `tlps` TLPs have passed RQ and as many RC. Returns both counts.

    PATIENCE ends a campaign that gets nowhere; a busy machine does not shorten one.
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
    """Random latencies, splits and stalls: every byte of the sink is right in every round."""
    sent, answered = campaign(start_board, seed, TLPS)
    assert min(sent, answered) >= TLPS


@pytest.mark.soak
@each_seed(1)
def test_a_million_tlps_each_way(start_board, seed):
    """The same, a million TLPs each way."""
    sent, answered = campaign(start_board, seed, SOAK_TLPS, mps=128, mrrs=128)
    assert min(sent, answered) >= SOAK_TLPS


def test_the_campaign_notices_one_bit(start_board):
    """One flipped bit in a completion makes the campaign fail."""
    with pytest.raises(AssertionError, match="1 of .* bytes differ"):
        campaign(start_board, 1, TLPS, options=["--fault", "flip-h2c:5000"])


@each_seed(2)
def test_answers_out_of_order_are_put_in_order(start_board, seed):
    """Completions overtake each other and interleave, and the channel's data is still in order."""
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
