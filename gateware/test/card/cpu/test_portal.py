# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of card/cpu/portal.py: the CPU's accesses through the clock crossing, and its sleep."""

import random

import pytest
from migen import passive, run_simulation

from gateware import numbers
from gateware.card.cpu.layout import (
    EVENTS,
    OWN,
    OWN_BASE,
    PORTAL_BASE,
    TICKS,
    WORD,
    WRITABLE,
)
from gateware.card.cpu.portal import Portal
from tools.testing.seeds import each_seed

PAGES = [numbers.CSR_LOCATIONS[name] for name in WRITABLE]
LIMIT = 20_000
# Cycles of the periods of the CPU's tick on the bench, by name.
PERIODS = {name: 256 << 2 * bit for name, (bit, _) in TICKS.items()}
BITS = {name: 1 << bit for name, (bit, _) in TICKS.items()}


class Bench:
    """A portal with registers behind its bus. `own` and `card` are the CPU's accesses."""

    def __init__(self, seed=0):
        self.rng = random.Random(seed)
        self.dut = Portal(PAGES)
        self.registers = {}
        self.written = []
        self.now = 0  # device time in cycles

    @passive
    def registers_side(self):
        bus = self.dut.bus
        while True:
            if (yield bus.cyc) and (yield bus.stb):
                for _ in range(self.rng.randrange(4)):
                    yield
                address = yield bus.adr
                if (yield bus.we):
                    value = yield bus.dat_w
                    self.registers[address] = value
                    self.written.append((address, value))
                yield bus.dat_r.eq(self.registers.get(address, 0))
                yield bus.ack.eq(1)
                yield
                yield bus.ack.eq(0)
            yield

    @passive
    def device_time(self):
        while True:
            self.now += 1
            waves = (bool(self.now & p // 2) * BITS[name] for name, p in PERIODS.items())
            yield self.dut.waves.eq(sum(waves))
            yield

    def access(self, address, write=0, value=0):
        dut = self.dut
        yield dut.address.eq(address // WORD)
        yield dut.write.eq(write)
        yield dut.value.eq(value)
        yield dut.request.eq(1)
        yield
        while not (yield dut.ack):
            yield
        answer = yield dut.answer
        yield dut.request.eq(0)
        for _ in range(self.rng.randrange(2)):
            yield
        return answer

    def own(self, name, value=None):
        return (yield from self.access(OWN_BASE + OWN[name], value is not None, value or 0))

    def run(self, cpu, sys=None, limit=LIMIT):
        def nothing():
            yield

        def watchdog():
            for _ in range(limit):
                yield
            raise AssertionError(f"hung: not over after {limit} cycles")

        clocks = {"sys": 10, "cpu": (40, 5)}
        generators = {
            "cpu": [cpu],
            "sys": [
                sys or nothing(),
                self.registers_side(),
                self.device_time(),
                passive(watchdog)(),
            ],
        }
        run_simulation(self.dut, generators, clocks=clocks)


@each_seed(4)
def test_registers_are_read_and_written_once_each(seed):
    """Every access of the CPU to the card's registers is made once, with its address and value."""
    bench = Bench(seed)
    expected = {}

    def cpu():
        for _ in range(60):
            page = bench.rng.choice(PAGES)
            offset = page * 0x800 + WORD * bench.rng.randrange(16)
            if bench.rng.random() < 0.5:
                value = bench.rng.randrange(1 << 32)
                expected[offset // WORD] = value
                yield from bench.access(PORTAL_BASE + offset, 1, value)
                writes.append((offset // WORD, value))
            else:
                found = yield from bench.access(PORTAL_BASE + offset)
                assert found == expected.get(offset // WORD, 0)

    writes = []
    bench.run(cpu())
    assert bench.written == writes


def test_only_the_pages_of_the_services_can_be_written():
    """A CPU's write to another page of registers is dropped and counted; a read of it is not."""
    bench = Bench()
    pages = range(numbers.CSR_SIZE // (WORD * numbers.CSR_PAGE_WORDS))

    def cpu():
        for page in pages:
            yield from bench.access(PORTAL_BASE + page * 0x800, 1, page + 1)
        for page in pages:
            found = yield from bench.access(PORTAL_BASE + page * 0x800)
            assert found == (page + 1 if page in PAGES else 0), page
        assert (yield bench.dut.refused) == len(pages) - len(PAGES)

    bench.run(cpu())


@pytest.mark.parametrize("name", EVENTS)
def test_a_sleep_ends_by_an_event_of_its_mask_alone(name):
    """The CPU sleeps without a clock until an event of its mask comes. Others do not wake it."""
    bench = Bench()
    dut = bench.dut
    woken = []

    def cause(which):
        if which == "doorbell":
            yield dut.doorbell.eq(1)
            yield
            yield dut.doorbell.eq(0)
        elif which == "hot":
            yield dut.hot.eq(1)
        elif which == "cool":
            yield dut.hot.eq(0)

    def cpu():
        if name == "tick":
            yield from bench.own("tick", BITS["second"])
        yield from bench.own("events", 0xF)
        yield from bench.own("sleep", 1 << EVENTS[name])
        woken.append(True)
        assert (yield from bench.own("events")) & 1 << EVENTS[name]

    def sys():
        if name == "cool":
            yield dut.hot.eq(1)
        while not (yield dut.asleep):
            yield
        for other in EVENTS:
            if other != name and not (name == "cool" and other == "hot") and other != "cool":
                yield from cause(other)
                for _ in range(20):
                    yield
                assert (yield dut.asleep) and not woken, other
        yield from cause(name)
        while not woken:
            yield
        assert not (yield dut.asleep)

    bench.run(cpu(), sys())


def test_an_event_that_has_come_before_ends_a_sleep_at_once():
    """An event is kept until the CPU clears its bit, so none is lost between a look and a sleep."""
    bench = Bench()

    def cpu():
        for _ in range(30):
            yield
        yield from bench.own("sleep", 1)
        assert (yield from bench.own("events")) == 1
        yield from bench.own("events", 1)
        assert (yield from bench.own("events")) == 0

    def sys():
        yield bench.dut.doorbell.eq(1)
        yield
        yield bench.dut.doorbell.eq(0)

    bench.run(cpu(), sys())


@pytest.mark.parametrize("name", TICKS)
def test_a_tick_comes_once_in_its_period(name):
    """The CPU's tick comes once in each period that the written bit names; after a 0 none comes."""
    bench = Bench()
    times = []

    def cpu():
        yield from bench.own("tick", BITS[name])
        for _ in range(4):
            yield from bench.own("sleep", 1 << EVENTS["tick"])
            yield from bench.own("events", 1 << EVENTS["tick"])
            times.append(bench.now)
        yield from bench.own("tick", 0)
        for _ in range(PERIODS[name]):
            yield
        assert not (yield from bench.own("events")) & 1 << EVENTS["tick"]

    bench.run(cpu(), limit=10 * PERIODS[name])
    steps = [b - a for a, b in zip(times, times[1:])]
    assert all(abs(step - PERIODS[name]) <= 12 for step in steps), steps
