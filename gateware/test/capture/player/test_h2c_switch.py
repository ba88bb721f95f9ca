# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of the switch that gives the h2c stream to the player or to the user slot."""

import random

import pytest
from migen import run_simulation

from gateware.capture.player.h2c_switch import H2cSwitch
from tools.testing.seeds import SHIFT


@pytest.mark.parametrize("to_play", [0, 1])
def test_one_side_has_the_whole_stream_and_the_other_nothing(to_play):
    """The side that H2cSwitch has chosen (player or user slot) gets every h2c beat with all its
    fields, in order, and alone decides when a beat is taken. The other side is offered nothing.
    """
    rng = random.Random(SHIFT + to_play)
    dut = H2cSwitch()
    beats = [(rng.getrandbits(256), rng.getrandbits(1), rng.randrange(33)) for _ in range(100)]
    chosen, other = (dut.player, dut.slot) if to_play else (dut.slot, dut.player)
    taken = []

    def offer():
        yield dut.to_play.eq(to_play)
        for data, last, count in beats:
            while rng.random() < 0.3:
                yield
            yield dut.sink.valid.eq(1)
            yield dut.sink.data.eq(data)
            yield dut.sink.last.eq(last)
            yield dut.sink.bytes.eq(count)
            yield
            while not (yield dut.sink.ready):
                yield
            yield dut.sink.valid.eq(0)

    def take():
        for _ in range(1000):
            if (yield chosen.valid) and (yield chosen.ready):
                taken.append(((yield chosen.data), (yield chosen.last), (yield chosen.bytes)))
            assert not (yield other.valid)
            yield chosen.ready.eq(rng.random() < 0.6)
            yield other.ready.eq(rng.random() < 0.6)
            yield

    run_simulation(dut, [offer(), take()])
    assert taken == beats
