# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""device_time.py"""

import random

from csr_model import CsrBench
from migen import Constant, passive
from seeds import each_seed
from stream_model import simulate, wait

from lanebox.device_time import DeviceTime

WRAP = 2**32


def test_one_tick_per_cycle():
    """Time advances by one with every cycle."""
    dut = DeviceTime(with_csr=False)

    def check():
        yield
        start = (yield dut.time)
        for elapsed in range(100):
            assert (yield dut.time) == start + elapsed
            yield

    simulate(dut, [check()])


@each_seed(16)
def test_low_then_high_is_one_instant(seed):
    """Low and high read after each other are one instant, even if low wraps between the reads."""
    rng   = random.Random(seed)
    dut   = DeviceTime()
    bench = CsrBench(dut)
    dut.time.reset = Constant(WRAP - 30, 64)
    strobed = []

    @passive
    def watch():
        while True:
            if (yield bench.csr.re) and (yield bench.csr.adr) == bench.addresses["low"][0]:
                strobed.append((yield dut.time))
            yield

    def read():
        yield from wait(rng.randrange(30))
        low = yield from bench.read("low")
        yield from wait(rng.randrange(30))
        high = yield from bench.read("high")
        assert high*WRAP + low == strobed[0]

    simulate(bench, [read(), watch()])


def test_only_low_latches():
    """Reading high again gives the same instant again."""
    bench = CsrBench(DeviceTime())
    bench.dut.time.reset = Constant(WRAP - 10, 64)

    def read():
        yield from bench.read("low")
        high = []
        for _ in range(4):
            high.append((yield from bench.read("high")))
            yield from wait(10)
        assert high == [0]*4
        yield from bench.read("low")
        assert (yield from bench.read("high")) == 1

    simulate(bench, [read()])
