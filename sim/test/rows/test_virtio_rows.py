# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/virtio.py: on made-up traces, and on the simulated card with its console."""

import pytest

from sim import artefacts
from sim.clients.virtio import MEMORY, MEMORY_STEP, QUEUE_NOTIFY, RINGS, TRANSMIT, EchoDriver
from sim.endpoints import DEFAULT
from sim.errors import TestFailed
from sim.rows import virtio
from sim.rows.measure import Conditions
from sim.rows.peer import BAR0_ADDRESS
from sim.rows.virtio import Echo, found, percentile
from sim.trace.tlp import Tlp
from tools.testing.seeds import SHIFT

PAGE = 0x8000
DOORBELL = BAR0_ADDRESS + PAGE + QUEUE_NOTIFY


def tlp(ns, interface, kind="MWr", address=0, first=0):
    return Tlp(ns, interface, kind, 1, 0, 0, address=address, payload=bytes([first, 0, 0, 0]))


@pytest.fixture(scope="module")
def card():
    """Return the board with the console, and the register map of its gateware."""
    built = artefacts.build(DEFAULT, virtio=True)
    return built.board, built.gateware / "csr.json"


def test_an_echo_is_the_time_from_a_transmit_doorbell_to_the_next_interrupt():
    """Doorbells of the receive queue, writes elsewhere and interrupts without a doorbell begin and
    end nothing. Only the card's reads within an echo are counted."""
    trace = [
        tlp(10, "MSI"),
        tlp(20, "RQ", "MRd"),
        tlp(100, "CQ", address=DOORBELL, first=1),
        tlp(110, "RQ", "MRd"),
        tlp(120, "RQ", "MRd"),
        tlp(130, "RQ"),
        tlp(140, "CQ", address=DOORBELL, first=0),
        tlp(150, "CQ", address=DOORBELL + 4, first=1),
        tlp(400, "MSI"),
        tlp(500, "MSI"),
        tlp(600, "CQ", address=DOORBELL, first=1),
        tlp(648, "MSI"),
    ]
    assert list(found(trace, PAGE)) == [Echo(300, 2), Echo(48, 0)]


def test_the_pace_of_a_batch_is_that_of_its_used_elements():
    """Writes to other queues, and of the used index, do not count. A batch that lacks an element
    has no pace."""
    used = MEMORY + MEMORY_STEP + (RINGS >> 1)
    trace = [
        tlp(100 + 40 * n + late, "RQ", address=address)
        for n in range(virtio.FRAMES)
        for late, address in ((0, used + 4 + 8 * n), (7, used), (9, used - MEMORY_STEP + 4))
    ]
    assert virtio.pace(trace, TRANSMIT) == 40
    with pytest.raises(TestFailed, match="queue 1 used 31 elements for 32 messages"):
        virtio.pace(trace[1:], TRANSMIT)


@pytest.mark.parametrize(
    "share, value", [(50, 500), (95, 950), (99, 990), (99.9, 999), (100, 1000), (0, 1)]
)
def test_a_percentile_is_one_of_the_times(share, value):
    """Of the times 1 to 1000 in any order the percentile is the nearest rank: SHARE percent of the
    times do not exceed it, and no smaller one has that property."""
    times = [n * 7 % 1000 + 1 for n in range(1000)]
    assert percentile(times, share) == value
    assert percentile([8], share) == 8


def test_the_rows_of_the_console_have_goals_and_break_no_rule(card):
    """The slope over the read latency is the number of reads that wait for each other: index,
    entry, descriptor and data. NOTIFICATION_DATA saves one, and a descriptor that is guessed
    another one. The interrupt waits for no read that only looks for the next chain. The other rows
    agree with it."""
    rows = {entry.id: entry for entry in virtio.rows(*card, Conditions(seed=SHIFT + 1))}
    print({name: entry.value for name, entry in rows.items()})
    for name, reads in (("split", 4), ("notify", 3), ("predicted", 2)):
        entry = rows[f"virtio/reads/{name}"]
        # Beside other load half of the guesses at one latency may be wrong, which moves the slope.
        # An interrupt that waited for one more read would add 0.98.
        assert reads - 0.15 < entry.value < reads + 0.7
        assert reads <= entry.conditions["reads"]
    own, guessed = rows["virtio/own/64"], rows["virtio/own/64/predicted"]
    assert guessed.value < own.value
    doorbell = rows["virtio/doorbell/64"]
    # Beside other load half of the guesses have once been wrong: one read more.
    expected = guessed.value * 4 + 2 * 600
    assert 0.9 * expected < doorbell.value < 1.1 * expected + 600
    for entry in rows.values():
        assert entry.violations == 0 and entry.binds == "budget" and 0 < entry.ratio


def test_a_far_host_makes_a_tail_and_each_size_has_a_row(card):
    """Each size of seed 002's table has a row with ordered percentiles and all its echoes in the
    histogram. Late reads make the tail longer than the median."""
    rows = list(virtio.by_size(*card, Conditions(seed=SHIFT + 1), count=40))
    assert [entry.id for entry in rows] == [f"virtio/echo/{size}" for size in virtio.SIZES]
    for entry in rows:
        told = list(entry.conditions["ns"].values())
        assert told == sorted(told) and entry.value == told[0] and entry.violations == 0
        assert sum(bin["count"] for bin in entry.histogram) == 40
    assert max(entry.conditions["ns"]["p99.9"] for entry in rows) > 1.5 * rows[0].value


def test_an_answer_that_differs_ends_the_measurement(card, monkeypatch):
    """If a byte of an answer differs from what was sent, or the card has no such device, there is
    no row."""
    at = Conditions(seed=SHIFT + 1)
    describe = EchoDriver._await
    monkeypatch.setattr(EchoDriver, "_await", lambda self, sent: describe(self, sent[:-1] + b"?"))
    with pytest.raises(TestFailed, match="64 bytes came back changed"):
        virtio.Device(*card).echoes(at, 64, 1)
    monkeypatch.setattr(virtio.Device, "page", 0)
    with pytest.raises(TestFailed, match=r"BAR0 \+ 0x0 is no page of a virtio device"):
        virtio.Device(*card).echoes(at, 64, 1)
