# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/virtio/latency.py: on made-up traces, and on the simulated card with its
console and its net device.
"""

import random
import time
from dataclasses import replace

import pytest

from sim import artefacts
from sim.clients import resting
from sim.clients.resting import RestingClient
from sim.clients.virtio import (
    MEMORY,
    MEMORY_STEP,
    QUEUE_NOTIFY,
    RINGS,
    TRANSMIT,
    EchoDriver,
    Queue,
)
from sim.clients.virtio_net import RECEIVED, NetEchoDriver, datagram
from sim.endpoints import DEFAULT
from sim.errors import TestFailed
from sim.rows.measure import Conditions
from sim.rows.peer import BAR0_ADDRESS
from sim.rows.virtio import latency
from sim.rows.virtio.latency import Echo, found, percentile
from sim.trace.tlp import Tlp
from tools.testing.seeds import SHIFT

PAGE = 0x8000
DOORBELL = BAR0_ADDRESS + PAGE + QUEUE_NOTIFY


def tlp(ns, interface, kind="MWr", address=0, first=0):
    return Tlp(ns, interface, kind, 1, 0, 0, address=address, payload=bytes([first, 0, 0, 0]))


@pytest.fixture(scope="module")
def card():
    """Return the path of the simulated board whose card has virtio devices, and the path of
    csr.json."""
    built = artefacts.build(DEFAULT, virtio=True)
    return built.board, built.gateware / "csr.json"


def test_an_echo_is_the_time_from_a_transmit_doorbell_to_the_next_interrupt():
    """latency.found() measures an echo from a write to the doorbell of the transmit queue to the
    next interrupt. Doorbells of the receive queue, other writes, and interrupts without a doorbell
    do not count. An echo has the number of the card's reads within it."""
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
    """latency.pace() computes the time from one used element of a virtqueue to the next. It leaves
    out writes to other queues and to the used index. If an element is missing in the trace, it
    raises TestFailed."""
    used = MEMORY + MEMORY_STEP + (RINGS >> 1)
    trace = [
        tlp(100 + 40 * n + late, "RQ", address=address)
        for n in range(latency.FRAMES)
        for late, address in ((0, used + 4 + 8 * n), (7, used), (9, used - MEMORY_STEP + 4))
    ]
    assert latency.pace(trace, TRANSMIT) == 40
    with pytest.raises(TestFailed, match="queue 1 used 31 elements for 32 messages"):
        latency.pace(trace[1:], TRANSMIT)


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
    """An echo takes four reads of host memory that wait for each other (index, entry, descriptor
    and data), so the slope of its time over the read latency is 4. NOTIFICATION_DATA saves one
    read, and a descriptor that is guessed saves another. The interrupt waits for no read that only
    prefetches the next chain. The row from doorbell to interrupt agrees with that slope. All
    rows reach their goals."""
    rows = {entry.id: entry for entry in latency.rows(*card, Conditions(seed=SHIFT + 1))}
    print({name: entry.value for name, entry in rows.items()})
    for name, reads in (("split", 4), ("notify", 3), ("predicted", 2)):
        entry = rows[f"virtio/reads/{name}"]
        assert entry.value == pytest.approx(reads, abs=0.05)
        assert reads <= entry.conditions["reads"]
    own, guessed = rows["virtio/own/64"], rows["virtio/own/64/predicted"]
    assert guessed.value < own.value
    doorbell = rows["virtio/doorbell/64"]
    slope = rows["virtio/reads/predicted"].value
    assert doorbell.value == pytest.approx(guessed.value * 4 + slope * 600, rel=0.02)
    for entry in rows.values():
        assert entry.violations == 0 and entry.binds == "budget"
        assert entry.ratio >= 1, f"{entry.id} has {entry.value}, and does not reach its goal"


def test_a_packed_ring_saves_two_reads_without_a_guess():
    """With packed rings and NOTIFICATION_DATA an echo takes two reads of host memory that wait for
    each other, those of the descriptor and of the data, though the device guesses nothing."""
    built = artefacts.build(DEFAULT, virtio=True, packed=True)
    at = Conditions(seed=SHIFT + 1)
    (entry,) = latency.packed_rows(built.board, built.gateware / "csr.json", at)
    assert entry.id == "virtio/reads/packed" and entry.violations == 0
    assert entry.value == pytest.approx(2, abs=0.05)


def test_a_datagram_through_the_net_device_waits_for_two_reads(card):
    """An echo of the net device, with NOTIFICATION_DATA and descriptors that can be guessed, waits
    for two reads of host memory as one of the console does. A datagram of 64 bytes comes in a frame
    with headers, so it takes the card a little longer than a message of the console."""
    at = Conditions(seed=SHIFT + 1)
    near, far = (
        latency._median(latency.Device(*card, name="net"), at, read_ns) for read_ns in (0, 2000)
    )
    console = latency._median(latency.Device(*card), at, 0)
    print(near, far, console)
    assert (far[0] - near[0]) / 2000 == pytest.approx(2, abs=0.05)
    assert console[0] < near[0] < 1.5 * console[0]
    assert near[2] == far[2] == 0


@pytest.mark.parametrize("part", ["sent", "answer"])
def test_a_datagram_that_is_not_answered_right_ends_the_measurement(card, monkeypatch, part):
    """If the net device's far side gets what it does not answer, or its answer is not the datagram
    with sender and receiver exchanged, the measurement fails and gives no row."""
    wrong = {"sent": bytes(100), "answer": RECEIVED + datagram(bytes(64))}[part]
    monkeypatch.setattr(NetEchoDriver, part, lambda driver, message: wrong)
    words = {"sent": "no interrupt for 118 bytes", "answer": "118 bytes came back changed"}[part]
    with pytest.raises(TestFailed, match=words):
        latency.Device(*card, name="net").echoes(Conditions(seed=SHIFT + 1), 64, 1)


@pytest.mark.parametrize("name, prefix", [("console", "virtio/echo"), ("net", "virtio/net")])
def test_a_far_host_makes_a_tail_and_each_size_has_a_row(card, name, prefix):
    """Each size of seed 002's table has a row for each device, with ordered percentiles and all its
    echoes in the histogram. Late reads make the tail longer than the median."""
    rows = list(latency.by_size(*card, Conditions(seed=SHIFT + 1), 40, name))
    assert [entry.id for entry in rows] == [f"{prefix}/{size}" for size in latency.SIZES]
    assert {entry.conditions["device"] for entry in rows} == {name}
    for entry in rows:
        told = list(entry.conditions["ns"].values())
        assert told == sorted(told) and entry.value == told[0] and entry.violations == 0
        assert sum(bin["count"] for bin in entry.histogram) == 40
    assert max(entry.conditions["ns"]["p99.9"] for entry in rows) > 1.5 * rows[0].value


def test_an_answer_that_differs_ends_the_measurement(card, monkeypatch):
    """If a byte of the virtio device's answer differs from what was sent, or the card has no such
    device, the measurement fails and gives no row."""
    at = Conditions(seed=SHIFT + 1)
    collect = EchoDriver._collect
    with monkeypatch.context() as patch:
        patch.setattr(EchoDriver, "_collect", lambda self, sent: collect(self, sent[:-1] + b"?"))
        with pytest.raises(TestFailed, match="64 bytes came back changed"):
            latency.Device(*card).echoes(at, 64, 1)
    monkeypatch.setattr(latency.Device, "page", 0)
    with pytest.raises(TestFailed, match=r"BAR0 \+ 0x0 is no page of a virtio device"):
        latency.Device(*card).echoes(at, 64, 1)


def test_messages_that_stay_in_the_queue_end_the_measurement(card, monkeypatch):
    """If no interrupt comes for a virtio message, or the device leaves a message in the transmit
    queue, the measurement fails and gives no row."""
    ring, offer = EchoDriver.ring, Queue.offer
    at = Conditions(seed=SHIFT + 1)
    with monkeypatch.context() as patch:
        # The doorbell of the transmit queue is not rung.
        patch.setattr(EchoDriver, "ring", lambda self, queue: queue.number or ring(self, queue))
        with pytest.raises(TestFailed, match="no interrupt for 64 bytes"):
            latency.Device(*card).echoes(at, 64, 1)

    def offer_more(queue, head):
        """Let the virtio driver count one message more than the device sees."""
        wanted = offer(queue, head)
        queue.index += queue.number
        return wanted

    monkeypatch.setattr(Queue, "offer", offer_more)
    with pytest.raises(TestFailed, match="the device left 1 of 1 messages in its queue"):
        latency.Device(*card, notify=False).echoes(at, 64, 1)


def slow(function, source, share):
    """Return a function that calls `function`. Before a random share of the calls (`share`, 0 to 1)
    the new function sleeps for up to 4 ms."""

    def later(*args, **kwargs):
        if source.random() < share:
            time.sleep(source.uniform(0, 0.004))
        return function(*args, **kwargs)

    return later


def paced(connect):
    """Return a replacement for RestingBar.connect(). Before it connects a client, it sets the
    board's pace to 50,000 cycles a second, a tenth of what the board could reach."""

    def connected(bar):
        bar.board.command("set pace 50000")
        return connect(bar)

    return connected


@pytest.mark.parametrize("notify", [False, True])
def test_a_slow_board_and_a_slow_client_make_the_same_tlps(card, monkeypatch, notify):
    """All TLPs of a measurement, with their times, are the same on a slow board and with a client
    that pauses at random before its messages and before its writes to host memory. The host's reads
    take random times."""
    device = latency.Device(*card, notify=notify)
    at = replace(Conditions(seed=SHIFT + 1), **latency.REAL_HOST)
    batches = [[bytes([n]) * 64] * n for n in (1, 1, 5, 40, 1, 40)]
    with monkeypatch.context() as patch:
        patch.setattr(latency.RestingBar, "connect", paced(latency.RestingBar.connect))
        slow_board = device.trace(at, batches)
    source = random.Random(SHIFT + 1)
    for owner, name, share in ((RestingClient, "send", 0.3), (Queue, "put", 0.1)):
        monkeypatch.setattr(owner, name, slow(getattr(owner, name), source, share))
    assert device.trace(at, batches) == slow_board
    assert len(slow_board[0]) > 500


class Working:
    """A stand-in for a board that works until cycle `end`, 32 cycles between two answers."""

    def __init__(self, end):
        self.cycle, self.end = 0, end

    def stats(self):
        self.cycle = min(self.cycle + 32, self.end)
        return {"cycles": self.cycle}


def test_a_client_rests_until_two_answers_have_the_same_cycle(monkeypatch):
    """RestingClient.rest() waits until two answers of the board have the same cycle. If the card
    never ends its work, rest() raises TestFailed."""
    client = RestingClient.__new__(RestingClient)
    client.board = Working(160)
    client.rest()
    assert client.board.cycle == 160
    client.board = Working(1 << 40)
    monkeypatch.setattr(resting, "SECONDS", 0.05)
    with pytest.raises(TestFailed, match="the card still works after 0.05 s"):
        client.rest()
