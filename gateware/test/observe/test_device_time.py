# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of observe/device_time.py, the card's 64-bit counter of clock cycles."""

import random

from migen import Constant, passive

from gateware.observe.device_time import DeviceTime
from tools.testing.csr_model import CsrBench
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, wait

WRAP = 2**32


def test_one_tick_per_cycle():
    """Device time advances by one in every clock cycle."""
    dut = DeviceTime(with_csr=False)

    def check():
        yield
        start = yield dut.time
        for elapsed in range(100):
            assert (yield dut.time) == start + elapsed
            yield

    simulate(dut, [check()])


@each_seed(16)
def test_low_then_high_is_one_instant(seed):
    """Both 32-bit halves of device time are of one instant, if software reads the low half first.

    That holds even if the low half wraps between the two reads.
    """
    rng = random.Random(seed)
    dut = DeviceTime()
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
        assert high * WRAP + low == strobed[0]

    simulate(bench, [read(), watch()])


def test_only_low_latches():
    """Only a read of device time's low half latches the high half, so further reads of it give the
    same.
    """
    bench = CsrBench(DeviceTime())
    bench.dut.time.reset = Constant(WRAP - 10, 64)

    def read():
        yield from bench.read("low")
        high = []
        for _ in range(4):
            high.append((yield from bench.read("high")))
            yield from wait(10)
        assert high == [0] * 4
        yield from bench.read("low")
        assert (yield from bench.read("high")) == 1

    simulate(bench, [read()])
