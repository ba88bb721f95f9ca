# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A whole card records frames of its user slot and of its generator in the order of their times."""

import json
import struct

import pytest

from gateware import numbers
from sim import artefacts, examples
from sim.pcap import blocks
from sim.test.board.board_client import wait_until
from sim.test.card.test_board_capture import Generated, Recorder
from sim.test.conftest import started_boards

SLOT_PORT = (1 << numbers.CAPTURE_PORT_BITS) - 1
CYCLES = 37  # from one frame of the sensor to the next


@pytest.fixture
def start_sensor(tmp_path):
    """Return a function that starts boards, as the fixture start_board does, with the sensor in the
    user slot, which sends frames of two beats."""
    built = artefacts.build("lanebox", examples.find("sensor"))
    csr = json.loads((built.gateware / "csr.json").read_text())
    yield from started_boards(built.board, csr, tmp_path)


def records(recorder):
    """Return [(time in ns, port, data), ...] of all packets of the recording."""
    found = []
    for kind, body in blocks(bytes(recorder.taken)):
        if kind == numbers.PCAPNG_RECORD:
            port, high, low, kept, _ = struct.unpack_from("<5I", body)
            found.append((high << 32 | low, port, body[20 : 20 + kept]))
    return found


def test_frames_of_two_sources_are_in_the_order_of_their_times(start_sensor):
    """While the sensor sends frames and the generator makes some, no packet of the recording has an
    earlier time than the packet before it. All frames of the generator are there with their bytes,
    and the sensor has left none out."""
    frames = Generated(64, 3000, count=2000)
    with start_sensor() as board:
        card = board.card()
        recorder = Recorder(card, segments=16)
        recorder.allow(recorder.size)
        card.write("user_period", CYCLES)
        card.write("user_run", 1)
        recorder.start(frames)
        wait_until(lambda: recorder.made(frames.count), "all frames")
        card.write("user_run", 0)
        recorder.stop()
        recorder.end()
        assert card.read("user_missed") == 0
    found = records(recorder)
    times = [time for time, *_ in found]
    assert times == sorted(times)
    slot = [port == SLOT_PORT for _, port, _ in found]
    made = [data for (*_, data), of_slot in zip(found, slot) if not of_slot]
    assert made == [frames.data(number) for number in range(frames.count)]
    changes = sum(first != next_ for first, next_ in zip(slot, slot[1:]))
    assert slot.count(True) > 300 and changes > 300
