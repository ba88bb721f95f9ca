# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of capture/clock.py, the capture block's clock, against exact sums."""

import random

import pytest

from gateware.capture.clock import CaptureClock
from gateware.numbers import TICK_NS
from tools.testing.compiled_sim import run_simulation
from tools.testing.csr_model import CsrBench
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, wait

ONE = 1 << 32  # A ns, in units of the clock's fraction.
WRAP = 1 << 64
# Cycles after which an offset and a rate have their effect.
OFFSET_LATENCY, RATE_LATENCY = 3, 4
MOST_RATE = (1 << 31) - 1


def clock(cycle_ns=TICK_NS):
    return CaptureClock(cycle_ns, with_csr=False)


def signed(value):
    """Return the number of 64 bits whose two's complement is `value`."""
    return (value + WRAP // 2) % WRAP - WRAP // 2


@pytest.mark.parametrize("cycle_ns", [4, 8])
def test_it_is_device_time_until_it_is_set(cycle_ns):
    """A clock that nobody sets has the time 0 at reset, and a cycle's length more in each cycle:
    4 ns on a card of 250 MHz, and 8 ns on one of 125 MHz."""
    dut = clock(cycle_ns)

    def check():
        for cycle in range(1000):
            assert (yield dut.time) == cycle * cycle_ns
            yield

    simulate(dut, [check()])


def random_offset(rng):
    """Return an offset of any size, or one at which a half of the time's sum overflows."""
    edge = rng.choice((0, 1 << 32, 1 << 63, WRAP - 1))
    return rng.choice((rng.randrange(WRAP), rng.randrange(1 << 34), edge, -rng.randrange(1000)))


@each_seed(8)
def test_it_is_the_exact_sum_of_steps_and_offsets(seed):
    """With random rates and offsets, in consecutive cycles too, the time is the exact sum.

    Each offset counts once. The time goes back only where a negative offset takes it.
    """
    rng = random.Random(seed)
    dut = clock()
    offsets, rates, times = [], [], []

    def drive():
        rate, pause = 0, rng.choice((0.0, 0.5, 0.95))
        for _ in range(600):
            if rng.random() < 0.05:
                rate = rng.choice(
                    (
                        -MOST_RATE - 1,
                        MOST_RATE,
                        rng.randrange(-99, 99),
                        rng.randrange(-MOST_RATE, MOST_RATE),
                    )
                )
            adds, offset = rng.random() >= pause, random_offset(rng) % WRAP
            yield dut.rate.eq(rate)
            yield dut.add.eq(adds)
            yield dut.offset.eq(offset)
            yield
            # The clock takes the values over at the next edge.
            rates.append(rate)
            offsets.append(offset * adds)
            times.append((yield dut.time))

    simulate(dut, [drive()])
    exact, before = 0, 0
    rates, offsets = [0] * RATE_LATENCY + rates, [0] * OFFSET_LATENCY + offsets
    for time, rate, offset in zip(times, rates, offsets):
        exact += TICK_NS * ONE + rate + offset * ONE
        assert time == exact // ONE % WRAP
        if signed(offset) >= 0:
            assert (time - before) % WRAP >= offset
        before = time


def test_a_rate_is_exact_over_100000_cycles():
    """A rate that is no multiple of anything has gained exactly its sum after 10^5 cycles."""
    dut, rate, cycles = clock(), -123456789, 10**5

    def check():
        yield dut.rate.eq(rate)
        yield from wait(2 * RATE_LATENCY)
        first = yield dut.time
        yield from wait(cycles)
        gained = (yield dut.time) - first
        # Both times are cut to whole ns, so their distance may be 1 ns above the exact one.
        exact = cycles * (TICK_NS * ONE + rate)
        assert gained - exact // ONE in (0, 1)

    run_simulation(dut, [check()])


@each_seed(4)
def test_the_registers_add_once_and_read_one_instant(seed):
    """A write of both halves of `offset` adds it once, and `low` and then `high` read one time.

    The upper half alone adds nothing.
    """
    rng = random.Random(seed)
    bench = CsrBench(CaptureClock(TICK_NS))
    dut = bench.dut
    offset, rate = rng.randrange(WRAP // 2), rng.randrange(-MOST_RATE, MOST_RATE)
    upper, lower = bench.addresses["offset"]

    def put(address, value):
        yield bench.csr.adr.eq(address)
        yield bench.csr.dat_w.eq(value)
        yield bench.csr.we.eq(1)
        yield
        yield bench.csr.we.eq(0)
        yield

    def get():
        """Read the clock's time. Return it with the time before the read and the one behind."""
        before = yield dut.time
        low = yield from bench.read("low")
        behind = yield dut.time
        yield from wait(rng.randrange(30))
        return before, (yield from bench.read("high")) << 32 | low, behind

    def check_carry():
        """Check that `high` belongs to the read of `low` if the lower half overflows in between."""
        time = yield dut.time
        yield from put(upper, 0)
        yield from put(lower, (-200 - time) % ONE)
        yield from wait(10)
        before = yield dut.time
        low = yield from bench.read("low")
        yield from wait(100)
        assert (yield dut.time) >> 32 == (before >> 32) + 1
        assert before <= (yield from bench.read("high")) << 32 | low < before + 100

    def check():
        yield from put(upper, offset >> 32)
        yield from wait(10)
        before, time, behind = yield from get()
        assert before <= time <= behind < 1000
        yield from put(lower, offset % (1 << 32))
        yield from wait(10)
        for _ in range(5):
            before, time, behind = yield from get()
            assert before <= time <= behind
            assert offset < time < offset + 2000
            assert (time - offset) % TICK_NS == 0
            yield from wait(rng.randrange(30))
        yield from check_carry()
        yield from bench.write("rate", rate % (1 << 32))
        yield from wait(10)
        start = yield dut.time
        yield from wait(1000)
        gained = (yield dut.time) - start
        assert gained - 1000 * (TICK_NS * ONE + rate) // ONE in (0, 1)

    simulate(bench, [check()])
