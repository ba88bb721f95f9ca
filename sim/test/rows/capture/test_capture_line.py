# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/capture/line.py and ring.py: frames at the line rate of four ports of
10G on the simulated card. No frame is lost, and every record is compared with its frame.

`make bench` has the rows in full length, 17 ms of device time each. `make soak` has ten times that,
and with SOAK=full 10^8 frames of 64 B.
"""

import os
import struct

import numpy as np
import pytest

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.rows import limits
from sim.rows.capture import line as capture_line
from sim.rows.capture.line import DEVICE_NS, HELD, LOST, SIZES, line, stalled, traffic
from sim.rows.capture.ring import PORTS, Kind, Traffic
from sim.rows.measure import Conditions

SHORT = DEVICE_NS / 20  # ns of device time: 50,000 frames of 64 B
RECORD, DROPS = 6, 0x0008_0004  # types of a pcapng record and of its option epb_dropcount
HEAD = bytes([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0x88, 0xB5, 0, 0])
DROPS_BYTES = 12


@pytest.fixture(scope="module")
def card():
    """Build the board with the capture block. Returns the path of the board's program and that of
    csr.json."""
    built = artefacts.build(DEFAULT, capture=True)
    return built.board, built.gateware / "csr.json"


def generated(numbers, size, seed):
    """Return the frames that the card's generator makes with these numbers and this seed: an array
    with the bytes of a frame in each row."""
    beats = -(-size // limits.BEAT_BYTES)
    word = numbers.astype(np.uint32) ^ np.uint32(seed)
    lanes = np.empty((len(numbers), 8 * beats), np.uint32)
    for beat in range(beats):
        lanes[:, 8 * beat] = word
        for i in range(1, 8):
            lanes[:, 8 * beat + i] = word << np.uint32(4 * i) | word >> np.uint32(32 - 4 * i)
        word = word ^ word << np.uint32(13)
        word = word ^ word >> np.uint32(17)
        word = word ^ word << np.uint32(5)
    data = lanes.view(np.uint8)
    data[:, :16] = np.frombuffer(HEAD, np.uint8)
    data[:, 11] = numbers % PORTS
    data[:, 16:20] = numbers.astype("<u4").reshape(-1, 1).view(np.uint8)
    data[:, 20:24] = np.frombuffer(struct.pack("<I", seed), np.uint8)
    return data[:, :size]


def places(ring):
    """Return an array with the offset in bytes of each pcapng record in the capture ring."""
    found, at, end = [], 0, ring.line[0]
    while at < end:
        kind, length = struct.unpack_from("<II", ring.data, at)
        assert length % 8 == 0 and length >= 16 and at % ring.mbuf + length <= ring.mbuf
        if kind == RECORD:
            found.append(at)
        at += length
    return np.array(found)


def compare(ring, frames):
    """Compare every record of the ring with its frame, byte for byte. Returns the numbers of the
    frames that were recorded.

    After a loss the next record of a port must say how many frames of the port are missing.
    """
    data = np.frombuffer(ring.data, np.uint8)
    at = places(ring)
    words = data.view("<u4")
    number = words[at // 4 + 11]  # A frame has its number at byte 16, behind 28 bytes of header.
    assert (np.diff(number.astype(np.int64)) > 0).all()
    sizes = np.array([frames.kind(n).size for n in range(12)])[number % 12]
    assert (words[at // 4 + 2] == number % PORTS).all()
    assert (words[at // 4 + 5] == sizes).all() and (words[at // 4 + 6] == sizes).all()
    before = np.full(len(number), -1, np.int64)
    for port in range(PORTS):
        own = np.flatnonzero(number % PORTS == port)
        before[own[1:]] = number[own[:-1]] // PORTS
    drops = number.astype(np.int64) // PORTS - before - 1
    for size in set(map(int, sizes)):
        for has_drops in (False, True):
            mine = np.flatnonzero((sizes == size) & ((drops > 0) == has_drops))
            if not len(mine):
                continue
            length = -(-(32 + (size + 3 & ~3) + DROPS_BYTES * has_drops) // 8) * 8
            want = np.zeros((len(mine), length), np.uint8)
            want[:, 28 : 28 + size] = generated(number[mine], size, frames.seed)
            if has_drops:
                option = 28 + (size + 3 & ~3)
                tail = np.zeros((len(mine), 3), "<u4")
                tail[:, 0], tail[:, 1] = DROPS, drops[mine]
                want[:, option : option + DROPS_BYTES] = tail.view(np.uint8)
            want[:, -4:] = np.frombuffer(struct.pack("<I", length), np.uint8)
            got = data[at[mine, None] + np.arange(length)]
            assert (words[at[mine] // 4 + 1] == length).all()
            assert (got[:, 28:] == want[:, 28:]).all(), f"a record of {size} bytes differs"
    return number


def test_the_line_rate_is_that_of_four_ports():
    """For each row `capture/line/*` the card's generator makes frames at the rate of four lanes of
    10GBASE-R or slightly above it, with preamble, FCS and gap: 59.5 million frames of 64 B a
    second. Of 12 frames of the row `mix`, 7 have the first size, 4 the second and 1 the third."""
    assert traffic("64").count == 1_000_000
    for name, sizes in SIZES.items():
        frames = traffic(name)
        counts = (7, 4, 1) if len(sizes) > 1 else (12,)
        on_line = sum(count * (size + 20) for count, size in zip(counts, sizes)) / 12
        rate, line_rate = frames.count / frames.ns * 1e3, 40e3 / 8 / on_line
        print(f"{name}: {rate:.3f} of {line_rate:.3f} M frames/s, {frames.ns / 1e6:.2f} ms")
        assert line_rate <= rate <= 1.001 * line_rate
        assert DEVICE_NS * 0.98 <= frames.ns <= DEVICE_NS
    assert round(traffic("64").count / traffic("64").ns * 1e3, 1) == 59.5


def test_totals_are_those_of_the_frames():
    """Traffic.bytes, Traffic.record_bytes and Traffic.ns of a mix of three frame sizes are the sums
    over its frames, also if the number of frames is no multiple of 12, after which the order of
    sizes repeats."""
    kinds = tuple(map(capture_line.line_kind, SIZES["mix"]))
    for count in (1, 5, 7, 12, 31):
        frames = Traffic(kinds, count)
        each = [frames.kind(number) for number in range(count)]
        assert frames.bytes == sum(kind.size for kind in each)
        assert frames.record_bytes == sum(limits.capture_record(kind.size) for kind in each)
        assert frames.ns == sum(kind.period for kind in each) / 256 * limits.CYCLE_NS
    assert Traffic((Kind(60, 512),), 3).ns == 24


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("mps", [256, 128])
def test_no_frame_is_lost_at_line_rate(card, mps, name):
    """At the line rate of four ports no frame is lost, each record has its frame's bytes, and the
    card breaks no rule and writes nothing beside its ring."""
    recorded = []
    row = line(
        *card, Conditions(mps=mps), name, SHORT, lambda *ring: recorded.extend(compare(*ring))
    )
    print(row.id, row.value, row.conditions)
    assert (row.value, row.violations) == (0, 0)
    assert recorded == list(range(row.conditions["frames"]))


def test_a_stall_of_170_us_loses_nothing(card):
    """While the host takes nothing for 170 us, the staging memory holds all frames of 69 B of four
    ports, and each record has its frame's bytes."""
    recorded = []
    row = stalled(*card, Conditions(), HELD, lambda *ring: recorded.extend(compare(*ring)))
    assert (row.value, row.violations) == (0, 0)
    assert recorded == list(range(row.conditions["frames"]))


def test_a_stall_of_190_us_loses_frames_and_counts_them(card):
    """If the host takes nothing for 190 us, frames are lost for want of staging memory. The
    accounts and the drop counts of the next records have exactly those that are missing in the
    ring."""
    recorded = []
    row = stalled(*card, Conditions(), LOST, lambda *ring: recorded.extend(compare(*ring)))
    assert 100 < row.value < 2000 and row.violations == 0
    assert row.value == row.conditions["lost_staging"]
    assert row.value == row.conditions["frames"] - len(recorded)


@pytest.mark.soak  # 170 ms of device time each
@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("mps", [256, 128])
def test_no_frame_is_lost_in_ten_times_the_time(card, mps, name):
    """In 170 ms of device time, 10^7 frames of 64 B, no frame is lost at line rate."""
    row = line(*card, Conditions(mps=mps), name, 10 * DEVICE_NS)
    print(row.id, row.value, row.conditions)
    assert (row.value, row.violations) == (0, 0)


@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("SOAK") != "full", reason="takes an hour: SOAK=full runs it")
def test_no_frame_of_a_hundred_million_is_lost(card):
    """The capture block loses none of 10^8 frames of 64 B at line rate."""
    row = line(*card, Conditions(), "64", 100 * DEVICE_NS)
    print(row.id, row.value, row.conditions)
    assert (row.conditions["frames"], row.value, row.violations) == (100_000_000, 0, 0)
