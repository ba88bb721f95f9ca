# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of captures of several queues with the Python package, on a board with four: a thread for
each queue, rules, and a spread."""

import re
import threading
from contextlib import ExitStack, contextmanager

import pytest

from sim.board.process import BoardProcess
from sim.rows.measure import Conditions
from sim.test.board.board_builds import build_executable
from sim.test.board.board_client import wait_until
from sim.test.card.test_board_capture import PORTS, Generated
from sim.test.python.test_python_capture import SMALL, generate

QUEUES = 4
BY_PORT = {"spread": range(QUEUES), "by_port": True}


@pytest.fixture(scope="module")
def running():
    with BoardProcess(build_executable(capture=QUEUES), Conditions().board_options()) as board:
        yield board


@pytest.fixture
def card(host, running):
    with host.Card(f"sim:{running.socket}") as card:
        yield card


@contextmanager
def all_queues(card, **options):
    """Start a capture on each queue, on queue 0 last and with `options`. Yields them by queue."""
    with ExitStack() as stack:
        others = [card.capture(queue=number, **SMALL) for number in range(1, QUEUES)]
        captures = [*others, card.capture(**options, **SMALL)]
        for capture in captures:
            stack.enter_context(capture)
        yield [captures[-1], *others]


def read(block):
    """Return [(port of the card, bytes), ...] for the Ethernet frames of the capture's block
    `block`."""
    return [(int(port), frame.tobytes()) for port, frame in zip(block.ports, block, strict=True)]


def record(captures, wanted):
    """Return a list of the frames of each capture, as read() gives them. A thread takes the frames
    of each queue except queue 0. Queue 0 is stopped when each queue has as many frames as `wanted`
    says."""
    found = [[] for _ in captures]

    def follow(number):
        for block in captures[number]:
            found[number].extend(read(block))

    threads = [threading.Thread(target=follow, args=(n,)) for n in range(1, len(captures))]
    for thread in threads:
        thread.start()
    while len(found[0]) < wanted[0]:
        found[0] += read(captures[0].take())
    wait_until(lambda: [len(frames) for frames in found] == wanted, "the frames of all queues")
    captures[0].stop()
    while block := captures[0].take():
        found[0] += read(block)
    for thread in threads:
        thread.join()
    return found


def test_a_thread_follows_each_queue(card):
    """Each queue gives the frames of its port, in their order, and its own accounts. The loops of
    the other queues end when queue 0 is stopped."""
    frames = Generated(100, 3000, count=2000)
    each = frames.count // PORTS
    with all_queues(card, **BY_PORT) as captures:
        generate(captures[0], frames)
        found = record(captures, [each] * QUEUES)
        accounts = [[port.delivered.frames for port in c.stats.ports] for c in captures]
    for number, got in enumerate(found):
        assert got == [(number, frames.data(n)) for n in range(number, frames.count, PORTS)]
        assert accounts[number] == [each if port == number else 0 for port in range(16)]


def test_rules_come_before_the_spread(card):
    """Rules take effect before the spread. One rule discards the frames of port 3, which are
    counted, and one sends the frames of port 1 to queue 2 and cuts them."""
    frames = Generated(200, 3000, count=1200)
    each, rules = frames.count // PORTS, ["port=3 discard", "port=1 queue=2 snap=60"]
    with all_queues(card, rules=rules) as captures:
        generate(captures[0], frames)
        found = record(captures, [2 * each, 0, each, 0])
        discarded = captures[1].discarded
    assert [(account.frames, account.bytes) for account in discarded] == [
        (each, each * 200) if port == 3 else (0, 0) for port in range(16)
    ]
    assert found[2] == [(1, frames.data(n)[:60]) for n in range(1, frames.count, PORTS)]
    assert {port for port, _ in found[0]} == {0, 2}


def test_without_rules_all_frames_go_to_queue_0(card):
    """The rules and the spread of a capture are forgotten when its queue 0 is closed, so the next
    capture gets all frames in queue 0."""
    frames = Generated(64, 3000, count=400)
    with all_queues(card) as captures:
        generate(captures[0], frames)
        found = record(captures, [frames.count, 0, 0, 0])
    assert [data for _, data in found[0]] == [frames.data(n) for n in range(frames.count)]


@pytest.mark.parametrize(
    "options, said",
    [
        ({"queue": 4}, "queue 4: the card has 4"),
        ({"rules": ["port=16 discard"]}, "port=16: it must be a number from 0 to 15"),
        ({"rules": ["port=1"]}, "it must have queue=, snap= or discard"),
        ({"spread": [0, 4]}, "entry 1 of the spread names queue 4"),
        ({"spread": [257]}, "a spread names queue 257"),
        ({"spread": [300]}, "a spread names queue 300: it must be from 0 to 15"),
        ({"spread": [16]}, "a spread names queue 16: it must be from 0 to 15"),
        ({"spread": [-1]}, "a spread names queue -1: it must be from 0 to 15"),
        ({"queue": 1, "spread": [0]}, "belongs to the capture of queue 0, and this is queue 1"),
        ({"rules": ["discard"] * 17}, "17 rules"),
    ],
    ids=str,
)
def test_a_bad_option_gets_a_sentence(host, card, options, said):
    """card.capture() refuses a queue, rule or spread that is not possible, with a sentence that has
    the value."""
    with pytest.raises((host.LaneboxError, ValueError)) as caught, card.capture(**options, **SMALL):
        pass
    assert re.search(said, str(caught.value)), caught.value


def test_a_queue_cannot_join_a_run(host, card):
    """A queue that is started behind queue 0 is refused with a sentence, and queue 0 goes on."""
    frames = Generated(64, 3000, count=40)
    with card.capture(**SMALL) as first:
        said = "the capture of queue 0 runs: start queue 1 before it"
        with pytest.raises(host.LaneboxError, match=said), card.capture(queue=1, **SMALL):
            pass
        generate(first, frames)
        assert len(record([first], [frames.count])[0]) == frames.count
