# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/moderation.py, interrupt moderation: the cycles of interrupts, compared with a
model.
"""

import random

import pytest

from gateware.dma.moderation import Moderation
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate

pytestmark = pytest.mark.model


class Model:
    """Model of interrupt moderation: called once in each cycle, it says whether an interrupt is
    sent.
    """

    def __init__(self, interval, count):
        self.interval, self.count = interval, count
        self.kept, self.last = 0, None

    def __call__(self, cycle, wanted):
        self.kept += wanted
        over = self.last is None or cycle - self.last >= self.interval
        goes = self.kept and (over or self.kept >= max(1, self.count))
        if goes:
            self.kept, self.last = 0, cycle
        return bool(goes)


def run(interval, count, wanted):
    """Run the hardware and the model with interrupts wanted in the cycles `wanted`. `interval` and
    `count` are the settings of the moderation.

    Return three lists of cycles: those in which the hardware sent an interrupt, those in which it
    kept one back, and those in which the model sent one.
    """
    dut, model = Moderation(), Model(interval, count)
    went, kept, expected = [], [], []

    def drive():
        yield dut.interval.eq(interval)
        yield dut.count.eq(count)
        yield
        yield
        for cycle, wants in enumerate(wanted):
            yield dut.wanted.eq(wants)
            yield
            if (yield dut.irq):
                went.append(cycle)
            if (yield dut.waits):
                kept.append(cycle)
            if model(cycle, wants):
                expected.append(cycle)

    simulate(dut, [drive()])
    return went, kept, expected


def test_without_an_interval_each_passes_in_its_cycle():
    """With a moderation interval of 0, the value at reset, each interrupt is sent in the cycle in
    which it is raised.
    """
    wanted = [1, 0, 1, 1, 1, 0, 0, 1]
    went, kept, _ = run(0, 0, wanted)
    assert went == [n for n, wants in enumerate(wanted) if wants]
    assert not kept


def test_a_slow_stream_is_not_delayed():
    """An interrupt that comes during the moderation interval waits for the interval's end.

    An interrupt that comes when the interval is over is sent at once.
    """
    wanted = [0] * 100
    for cycle in (3, 23, 42):
        wanted[cycle] = 1
    went, kept, _ = run(20, 255, wanted)
    assert went == [3, 23, 43]
    assert kept == [43]


def test_so_many_do_not_wait():
    """With a moderation count of 3, the third interrupt wanted is sent at once and starts a new
    interval.
    """
    wanted = [0] * 200
    for cycle in (1, 10, 11, 12, 30, 120):
        wanted[cycle] = 1
    went, _, _ = run(100, 3, wanted)
    assert went == [1, 12, 112]


@pytest.mark.parametrize("interval, count", [(1, 255), (2, 2), (3, 0), (3, 1), (7, 255), (40, 4)])
@each_seed(3)
def test_at_random(interval, count, seed):
    """Under random load the moderation loses no interrupt, delays none too long, and sends none
    unasked.
    """
    rng = random.Random(seed)
    dense = rng.choice([0.05, 0.3, 0.9])
    wanted = [int(rng.random() < dense) for _ in range(2000)] + [0] * (interval + 2)
    went, kept, expected = run(interval, count, wanted)
    assert went == expected
    assert went[-1] >= max(n for n, wants in enumerate(wanted) if wants)
    assert len(kept) == 0 or kept[-1] <= went[-1]
