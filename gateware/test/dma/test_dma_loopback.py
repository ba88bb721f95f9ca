# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/loopback.py, by which h2c data comes back without the user's logic.

test_loopback.py is the test of user/loopback.py, the default logic of the user slot.
"""

import random

import pytest

from gateware.dma.loopback import DmaLoopback
from gateware.test.dma.whole_stream import Whole, beats_of, partners
from tools.testing.csr_model import CsrBench
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, wait

pytestmark = pytest.mark.model


class Bench(CsrBench):
    """A bench of DmaLoopback that drives or takes each of its four streams.

    All fields of a stream's beat are one number, so the tests compare whole beats. `h2c` and
    `c2h` are the streams of the DMA channel, `to_user` and `from_user` those of the user slot.
    """

    def __init__(self):
        super().__init__(DmaLoopback())
        self.h2c = Whole(self.dut.sink, driven=True)
        self.to_user = Whole(self.dut.next_source, driven=False)
        self.from_user = Whole(self.dut.next_sink, driven=True)
        self.c2h = Whole(self.dut.source, driven=False)


@each_seed(2)
def test_while_off_both_streams_go_through_the_user(seed):
    """While the loopback is off, as after a reset, h2c goes to the user and the user's data to c2h,
    with all fields of a beat.
    """
    bench, rng = Bench(), random.Random(seed)
    down, up = (beats_of(bench.h2c, rng, 80) for _ in range(2))
    down_taken, up_taken = [], []
    simulate(
        bench,
        [
            *partners(bench.h2c, bench.to_user, down, down_taken, rng),
            *partners(bench.from_user, bench.c2h, up, up_taken, rng),
        ],
    )
    assert (down_taken, up_taken) == (down, up)


@each_seed(2)
def test_while_on_h2c_comes_back_and_the_user_has_no_part(seed):
    """While the loopback is on, h2c comes back as c2h with all fields of a beat.

    The user is offered nothing, and the user's own data waits and is not lost.
    """
    bench, rng = Bench(), random.Random(seed)
    beats, taken = beats_of(bench.h2c, rng, 80), []
    offered = {"to the user": 0, "from the user": 0}

    def control():
        yield bench.from_user.beat.eq(1)
        yield bench.to_user.ready.eq(1)
        yield from bench.write("enable", 1)
        yield bench.from_user.valid.eq(1)
        yield
        while len(taken) < len(beats):
            offered["to the user"] += yield bench.to_user.valid
            offered["from the user"] += yield bench.from_user.ready
            yield
        yield from bench.write("enable", 0)
        yield bench.c2h.ready.eq(1)
        yield from wait(1)
        assert (yield bench.c2h.valid) and (yield bench.c2h.beat) == 1

    producer, consumer, monitor = partners(bench.h2c, bench.c2h, beats, taken, rng)

    def after_enable():
        yield from wait(4)
        yield from producer

    simulate(bench, [control(), after_enable(), consumer, monitor])
    assert taken == beats
    assert offered == {"to the user": 0, "from the user": 0}
