# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of user/loopback.py, user logic that sends the h2c stream back as the c2h stream."""

import random

from gateware.numbers import DATA_WIDTH
from gateware.user.loopback import Loopback
from tools.testing.seeds import each_seed
from tools.testing.stream_model import consume, produce, simulate, watch


@each_seed(6)
def test_every_beat_comes_back_in_order(seed):
    """The loopback's c2h stream has the beats of its h2c stream in order, with random stalls on
    both sides.
    """
    rng = random.Random(seed)
    dut = Loopback(platform=None)
    beats = [rng.randrange(2**DATA_WIDTH) for _ in range(200)]
    taken = []
    simulate(
        dut,
        [
            produce(dut.sink, beats, random.Random(rng.random()), rng.choice([0.3, 1])),
            consume(
                dut.source, taken, len(beats), random.Random(rng.random()), rng.choice([0.3, 1])
            ),
            watch(dut.source),
        ],
    )
    assert taken == beats


def test_one_beat_per_cycle():
    """Without stalls the loopback passes 200 beats in at most 205 cycles."""
    dut = Loopback(platform=None)
    taken = []
    cycles = []

    def count():
        while len(taken) < 200:
            cycles.append(1)
            yield

    simulate(
        dut,
        [
            produce(dut.sink, range(200), random.Random(0), density=1),
            consume(dut.source, taken, 200, random.Random(0), density=1),
            count(),
        ],
    )
    assert len(cycles) < 206
