# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of PCIe ordering in the root complex: writes, reads and completions of the card, and stalls
of the host."""

import pytest

from gateware import numbers
from sim.test.board.board_client import C2H_GENERATE, HIGH_MEMORY, pattern, slices
from sim.test.link.root_probe import run
from sim.test.model.model_probe import MEMORY, beats, packets
from sim.test.model.model_probe import run as at_pins

DEVICE_CONTROL, RELAXED_ENABLE = numbers.CONFIG_EXPRESS + 8, 0x10
RELAXED, NO_SNOOP = 2, 1
WRITES = 64
BYTES = 256


def writes(attributes, count=WRITES, first=0):
    """Return commands for `count` writes of 64 dwords, each to a page of its own.

    `attributes(i)` gives the attributes of the i-th write, `first` is the page of the first.
    """
    return [f"mwr {0x1000 * (first + i):x} 64 {attributes(i)}" for i in range(count)]


def pages(seen):
    return [address // 0x1000 for _, address, _ in seen.stored]


@pytest.mark.parametrize("attribute", [0, NO_SNOOP, 4])
def test_writes_without_relaxed_ordering_stay_in_order(attribute):
    """Without relaxed ordering no write overtakes another, with or without No Snoop or ID-based
    ordering."""
    seen = run(*writes(lambda i: attribute), "run 4000")
    assert pages(seen) == list(range(WRITES))


@pytest.mark.parametrize("seed", range(4))
def test_only_relaxed_writes_overtake(seed):
    """Writes with relaxed ordering overtake others. A write without it becomes visible only after
    all writes that were sent before it."""
    relaxed = lambda i: RELAXED if i % 3 == 0 else 0  # noqa: E731
    seen = pages(run(f"seed {seed}", *writes(relaxed), "run 4000"))
    assert sorted(seen) == list(range(WRITES)) and seen != sorted(seen)
    for place, page in enumerate(seen):
        if not relaxed(page):
            assert set(range(page)) <= set(seen[:place]), f"the write to page {page} overtook one"


@pytest.mark.parametrize(
    "setting", ["reorder 0", f"config {DEVICE_CONTROL:x} 1 0"], ids=["reorder-off", "not-enabled"]
)
def test_relaxed_ordering_must_be_allowed(setting):
    """Relaxed-ordering writes stay in order if Device Control does not enable relaxed ordering, or
    with --reorder off."""
    seen = run(setting, *writes(lambda i: RELAXED), "run 4000")
    assert pages(seen) == list(range(WRITES))


@pytest.mark.parametrize("seed", range(4))
def test_a_completion_pushes_every_write_before_it(seed):
    """When a read by the host's CPU is answered, all writes that the card sent before the answer
    are visible, relaxed ones too."""
    host = ["host 0", "run 1000"]
    seen = run(f"seed {seed}", *host, *writes(lambda i: RELAXED), "cpl 0 4 7", "run 9000")
    [(answered, ok)] = seen.answers
    assert ok and len(seen.stored) == WRITES
    assert max(ns for ns, _, _ in seen.stored) < answered


def test_a_read_pushes_every_write_before_it():
    """The answer to a read of the card comes after all its earlier writes are stored, even when the
    host accepts no write for 50 us."""
    seen = run("stall 100:50000", *writes(lambda i: RELAXED, 2), "mrd 9000 1 3", "run 120000")
    [completion] = seen.completions
    assert max(ns for ns, _, _ in seen.stored) >= 50000
    assert completion.ns >= max(ns for ns, _, _ in seen.stored)


def test_a_stall_holds_up_writes_for_its_time():
    """With `stall 100:10000` the host accepts nothing for 10 us after every write."""
    seen = run("stall 100:10000", *writes(lambda i: 0, 8), "run 100000")
    times = [ns for ns, _, _ in seen.stored]
    assert len(times) == 8
    assert all(10000 <= b - a <= 10004 for a, b in zip(times, times[1:]))


def test_a_reset_ends_a_stall():
    """The host accepts a write right after a reset, although a write before the reset has begun a
    stall of 50 us."""
    before = ["stall 100:50000", *writes(lambda i: 0, 1), "run 1000", "reset"]
    seen = run(*before, *writes(lambda i: 0, 1, 1), "run 5000")
    assert pages(seen) == [0, 1]


def test_a_stall_fills_the_transmit_buffer():
    """RQ is held off once the host's buffer and the hard block's transmit buffer are full, and
    accepts again after the host has gone on."""
    before = ["stall 100:20000", *writes(lambda i: 0, 1), "run 1000", "full"]
    during = [*writes(lambda i: 0, 90, 1), "run 1000", "full"]
    seen = run(*before, *during, "stall 0:0", "run 30000", "full")
    assert seen.full == [False, True, False]
    assert pages(seen) == list(range(91))


def test_stalls_reach_the_pins(start_board):
    """With --write-stall the gateware's RQ is held off for about the time of the stalls, and every
    byte still arrives."""
    total = 256 * 1024

    def stalls(*options):
        with start_board(*options) as board:
            card = board.card(mps=256)
            memory = card.memory(HIGH_MEMORY, total)
            card.write("pattern_control", C2H_GENERATE)
            card.program("c2h", slices(HIGH_MEMORY, total, 8192))
            card.start("c2h")
            card.wait_data(memory, pattern(total))
            return board.stats()["write_stalls"], board.stats()["rq"]["stalls"]

    drawn, stalled = stalls("--write-stall", "1:20000")
    free, quick = stalls()
    print(f"stalls drawn {drawn}, cycles held off at RQ {stalled} (without: {quick})")
    assert drawn >= 3 and free == 0
    assert stalled > quick + drawn * 20000 / 4 * 0.5


def pins(write, address, dwords, attributes):
    """Return a memory request as beats of RQ, with its attributes in bits 126:124 of PG213's
    descriptor."""
    descriptor = [address & 0xFFFF_FFFC, address >> 32, dwords | write << 11, attributes << 28]
    data = [0] * dwords if write else []
    return beats("rq", descriptor + data, (0xF, 0xF if dwords > 1 else 0))


@pytest.mark.parametrize("attributes", range(8))
def test_a_completion_repeats_the_attributes_of_its_read(attributes):
    """A completion has, in bits 94:92 of the RC descriptor, the attributes of its read, as section
    2.2.9 of the base specification asks."""
    [packet] = packets(at_pins([*pins(0, MEMORY, 4, attributes), "run 400"]).rc)
    assert packet[2] >> 28 & 7 == attributes


@pytest.mark.parametrize("attributes", [0, NO_SNOOP, RELAXED, RELAXED | NO_SNOOP])
def test_the_attribute_at_the_pins_lets_writes_overtake(attributes):
    """A later write becomes visible first only if bit 1 (relaxed ordering) of the attributes in the
    RQ descriptor is set."""
    commands = [line for i in range(32) for line in pins(1, MEMORY + 256 * i, 64, attributes)]
    seen = list(at_pins([*commands, "run 800"]).stored)[::256]
    assert len(seen) == 32
    assert (seen != sorted(seen)) == bool(attributes & RELAXED)


def test_an_answer_after_the_hosts_timeout_is_dropped():
    """The card's answer after the host's completion timeout is dropped, since the read has already
    ended as all ones. A second such answer breaks the rule `unexpected-completion`."""
    late = ["host 0", "run 60000", "cpl 0 4 7", "run 1000"]
    seen = run(*late)
    assert len(seen.answers) == 1 and not seen.answers[0][1]
    assert "rule unexpected-completion" in run(*late, "cpl 0 4 7", "run 1000", refused=True)
    assert [ok for _, ok in run(*late, "host 0", "run 1000", "cpl 1 4 7", "run 9000").answers] == [
        False,
        True,
    ]
