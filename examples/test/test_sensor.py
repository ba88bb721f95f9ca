# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of the block Sensor in examples/sensor, which sends measurements as frames."""

import random
import struct

import pytest
from migen import passive

from gateware.user.slot import find_occupant, make_occupant
from tools.testing.repository import ROOT
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, watch

Sensor = find_occupant(f"{ROOT}/examples/sensor/sensor.py:Sensor")
SAMPLES, STEP = 20, 97


def frame(number):
    """Return the 44 bytes that frame `number` of the sensor must have."""
    samples = [(number * SAMPLES + i) * STEP & 0xFFFF for i in range(SAMPLES)]
    return struct.pack(f"<I{SAMPLES}H", number, *samples)


def sense(period, cycles, rng, flow):
    """Let the sensor send a frame every `period` clock cycles, for `cycles` cycles.

    `flow` is the probability that a beat is taken in a cycle. Returns the frames as a list of
    (cycle of the first beat, bytes), and the number of frames that the sensor counted as missed.
    """
    dut, frames, missed = Sensor(platform=None), [], []

    def run():
        yield dut.period.storage.eq(period)
        yield dut.run.storage.eq(1)
        for _ in range(cycles):
            yield
        yield dut.run.storage.eq(0)
        for _ in range(50):
            yield
        assert not (yield dut.busy)
        missed.append((yield dut.missed.status))

    @passive
    def take():
        data, begun, cycle = b"", 0, 0
        while True:
            yield dut.frames.ready.eq(rng.random() < flow or cycle > cycles)
            yield
            cycle += 1
            if (yield dut.frames.valid) and (yield dut.frames.ready):
                begun = begun if data else cycle
                beat, last = (yield dut.frames.data), (yield dut.frames.last)
                count = ((yield dut.frames.bytes) or 32) if last else 32
                data += beat.to_bytes(32, "little")[:count]
                if last:
                    frames.append((begun, data))
                    data = b""

    simulate(dut, [run(), take(), watch(dut.frames)])
    return frames, missed[0]


def test_it_fits_the_user_slot():
    """The user slot accepts Sensor with its stream of frames, and its registers have the names that
    the clients use.
    """
    occupant = make_occupant(Sensor, platform=None)
    assert occupant.frames is not None
    assert [register.name for register in occupant.get_csrs()] == ["run", "period", "missed"]


def test_a_frame_comes_every_period():
    """If all beats are taken, each of the sensor's frames comes whole, `period` cycles after the
    frame before it.
    """
    frames, missed = sense(period=10, cycles=500, rng=random.Random(1), flow=1)
    assert missed == 0 and len(frames) >= 49
    assert [data for _, data in frames] == [frame(n) for n in range(len(frames))]
    cycles = [cycle for cycle, _ in frames]
    assert {later - earlier for earlier, later in zip(cycles, cycles[1:])} == {10}


@pytest.mark.parametrize("flow", [0.1, 0.5])
@each_seed(2)
def test_a_frame_that_cannot_be_sent_in_time_is_counted(flow, seed):
    """The sensor sends each frame whole, or leaves it out, with its number, and counts it in
    `missed`.
    """
    frames, missed = sense(period=8, cycles=4000, rng=random.Random(seed), flow=flow)
    numbers = [struct.unpack_from("<I", data)[0] for _, data in frames]
    assert [data for _, data in frames] == [frame(n) for n in numbers]
    assert numbers == sorted(set(numbers))
    assert len(numbers) + missed == 500 and missed > (100 if flow < 0.5 else 0)
