# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/capture/both.py: frames are played and recorded at the same time on the
simulated card, and every record is compared with its packet.

`make bench` has the rows in full length, 17 ms of device time each. `make soak` has ten times that.
"""

import numpy as np
import pytest

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.pcap import first_difference, packets
from sim.rows import results
from sim.rows.capture import both as capture_both
from sim.rows.capture.both import SIZES, Packets, both, played
from sim.rows.capture.line import DEVICE_NS
from sim.rows.limits import capture_record
from sim.rows.measure import Conditions
from software.test.capture.pcapng_blocks import interface, section

SHORT = DEVICE_NS / 20  # ns of device time: 50,000 frames of 64 B
SEAL = 64  # bytes of the block at the end of each MBUF


@pytest.fixture(scope="module")
def card():
    """Build the board with the capture block. Returns the path of the board's program and that of
    csr.json."""
    built = artefacts.build(DEFAULT, capture=True)
    return built.board, built.gateware / "csr.json"


def compare(ring, sent):
    """Compare all records of the capture ring with the packets `sent`, byte for byte.

    The records in an MBUF (part of the ring) have no gaps between them, so their places are known.
    """
    length = capture_record(sent.size)
    in_mbuf = (ring.mbuf - SEAL) // length
    assert ring.line[1] == sent.count
    for mbuf, first in enumerate(range(0, sent.count, in_mbuf)):
        count = min(in_mbuf, sent.count - first)
        data = np.frombuffer(ring.data, np.uint8, count * length, mbuf * ring.mbuf)
        wanted = sent.blocks(length, first, count)
        differs = np.flatnonzero((data.reshape(count, length) != wanted).any(axis=1))
        assert not len(differs), f"packet {first + differs[0]} came back as another one"


def test_the_stream_is_pcapng():
    """The stream that the rows give the card to play is valid pcapng. A reader of pcapng that
    shares no code with the rows finds the packets with their bytes, lengths, ports and times. No
    two packets are the same."""
    sent = Packets(61, 300)
    head = section("<") + 4 * interface("<", 9)
    found = list(packets(head + sent.blocks(sent.block).tobytes()))
    wanted = [packet for packet in packets(head + sent.blocks(sent.block, 7, 1).tobytes())]
    assert first_difference([found[7]], wanted) is None
    assert [packet.time for packet in found] == [
        capture_both.FIRST_NS + capture_both.GAP_NS * n for n in range(300)
    ]
    assert [packet.port for packet in found] == [n % 4 for n in range(300)]
    assert {(len(packet.data), packet.original) for packet in found} == {(61, 61)}
    assert len({packet.data for packet in found}) == 300


@pytest.mark.parametrize("mps", [256, 128])
def test_frames_are_played_and_recorded_at_line_rate_at_once(card, mps):
    """Frames of 64 B are played at 40 Gb/s and recorded at the same time: none is lost, each record
    is that of its packet, and the card breaks no rule."""
    row = both(*card, Conditions(mps=mps), SHORT, compare)
    print(row.id, row.value, row.conditions)
    assert (row.value, row.violations) == (0, 0)
    assert row.conditions["delivered"] == row.conditions["frames"] > 49_000
    assert 59.46 < row.conditions["mpps"] < 59.6


@pytest.mark.parametrize("size", SIZES)
def test_frames_are_played_at_the_limit(card, size):
    """Frames that are played as fast as they are recorded come at 97 % or more of the lowest limit
    among player, builder, both wires and RQ, and each record is that of its packet."""
    row = played(*card, Conditions(), size, compare)
    print(f"{row.id}: {row.value:.3f} of {row.limit:.3f} {row.unit}, {row.binds}")
    assert 0.97 <= row.ratio <= results.ROUNDING and row.violations == 0


@pytest.mark.soak  # 170 ms of device time
def test_no_frame_is_lost_in_ten_times_the_time(card):
    """In 170 ms of device time the card plays 10^7 frames at 40 Gb/s, records them at the same
    time, and loses none."""
    row = both(*card, Conditions(), 10 * DEVICE_NS)
    print(row.id, row.value, row.conditions)
    assert (row.value, row.violations) == (0, 0)
