# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Several capture queues on a whole card: rules and spread send the generator's frames into the
rings of four queues, or discard them.
"""

import pytest

from gateware.capture.vocabulary import bits
from sim.test.board.board_builds import build_executable, register_map
from sim.test.board.board_client import HIGH_MEMORY, wait_until
from sim.test.card.test_board_capture import (
    ACCOUNTS_BUSY,
    CLEAR,
    IDLE,
    LOST_RING,
    MBUF,
    PORTS,
    SEGMENT,
    STATUS_AT,
    Generated,
    Recorder,
    packets,
)
from sim.test.conftest import started_boards

QUEUES = 4
SORT, BY_PORT = (1 << bits.QUEUES_CONTROL[name] for name in ("sort", "by_port"))
ANY_NUMBER = 0xFFFF_0000  # A range of numbers in a rule, such as ports: 0 to 65535.
RULE_ON, RULE_DISCARDS = (1 << bits.RULE_ACTION[name] for name in ("on", "discard"))


@pytest.fixture
def start_queues(tmp_path):
    """Return a function that starts boards whose gateware has four capture queues."""
    program, csr = build_executable(capture=QUEUES), register_map(capture=QUEUES)
    yield from started_boards(program, csr, tmp_path)


class Queue(Recorder):
    """The host's side of the recording of one queue, with a ring of one segment."""

    def __init__(self, card, number):
        self.card, self.number, self.size = card, number, SEGMENT
        base = HIGH_MEMORY + number * 16 * SEGMENT
        place = base + 4 * SEGMENT
        self.status = card.memory(base, 4096)
        self.segments = [card.memory(place - 4096, SEGMENT + 8192)]
        self.taken = bytearray()
        self.select()
        card.write64("capture_segment_base", place)
        card.write("capture_segment_index", 0)
        card.write("capture_last_segment", 0)
        card.write64("capture_status_base", base + STATUS_AT)

    def select(self):
        """Select this queue: from now on the card's registers of a queue act on it."""
        self.card.write("capture_queues_select", self.number)


def make_queues(card):
    """Give each queue a ring, and port n to queue n. A rule discards the frames of port 3."""
    queues = [Queue(card, number) for number in range(QUEUES)]
    card.write("capture_segment_log2", SEGMENT.bit_length() - 1)
    card.write("capture_mbuf_log2", MBUF.bit_length() - 1)
    for port in range(PORTS):
        entry, queue = bits.QUEUES_SPREAD["entry"], bits.QUEUES_SPREAD["queue"]
        card.write("capture_queues_spread", port << entry | port << queue)
    words = [3, 0xF, *[0] * 10, *[ANY_NUMBER] * 3, RULE_ON | RULE_DISCARDS]
    for index, word in enumerate(words):
        card.write("capture_queues_rule_data", word)
        card.write("capture_queues_rule_index", index)
    card.write("capture_queues_control", SORT | BY_PORT | 1 << bits.QUEUES_CONTROL["rules"])
    card.write("capture_control", CLEAR)
    wait_until(
        lambda: queues[0].flags(IDLE | ACCOUNTS_BUSY) == IDLE, "the clearing of the accounts"
    )
    return queues


def test_each_queue_has_its_frames_and_a_stopped_one_costs_the_others_nothing(
    start_queues, tmp_path
):
    """Queues 0 and 2 have all frames of their ports. Queue 1, whose host gives no room, loses those
    of its port, and a rule discards those of port 3. All are counted."""
    frames = Generated(64, 3000, count=400)
    each = (frames.count // PORTS, frames.count // PORTS * frames.size)
    with start_queues() as board:
        card = board.card()
        queues = make_queues(card)
        for queue in (queues[0], queues[2]):
            queue.select()
            queue.allow(queue.size)
        queues[0].start(frames)
        wait_until(lambda: queues[0].made(frames.count), "all frames")
        queues[0].stop()
        for queue in (queues[0], queues[2]):
            queue.select()
            queue.end()
            found = packets(queue, tmp_path)
            numbers = range(queue.number, frames.count, PORTS)
            assert [data for *_, data in found] == [frames.data(number) for number in numbers]
            assert {port for _, port, *_ in found} == {queue.number}
        queues[0].snapshot()
        queues[1].select()
        assert queues[1].line() == (0, 0, 0, 0) and queues[1].accounts(1)[LOST_RING] == each
        for index in (0, 16 + 3):  # the accounts of discards by rule 0, and of port 3
            card.write("capture_queues_discard_index", index)
            names = "capture_queues_discard_frames", "capture_queues_discard_bytes"
            assert tuple(map(card.read, names)) == each
        assert board.stats()["unmapped"] == 0
