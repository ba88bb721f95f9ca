# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of user/monitor.py: the user slot's monitor is compared with a model that lists every
cycle.
"""

import random

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import Signal, passive

from gateware.numbers import SLOT_COUNTER_WIDTH
from gateware.user.monitor import COUNTERS, SIDES, SlotMonitor
from gateware.vocabulary.layouts import stream_layout
from tools.testing.csr_model import CsrBench
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, wait

# A copy of the slot monitor holds the state that the user slot's streams had this many cycles ago.
LATE = 2


class Bench(LiteXModule):
    """The slot monitor with its registers, two streams, and a device time that begins at
    `start`.
    """

    def __init__(self, start=0):
        self.sides = {name: stream.Endpoint(stream_layout()) for name in SIDES}
        self.time = Signal(64, reset=start)
        self.late = Signal(64)
        self.monitor = SlotMonitor(*self.sides.values(), self.late)
        self.regs = CsrBench(self.monitor)
        self.sync += [self.time.eq(self.time + 1), self.late.eq(self.time)]


class Side:
    """Model of the slot monitor's counters of one stream. It computes them from a list of all
    cycles.
    """

    def __init__(self):
        self.cycles = []  # (time, valid, ready, last) of the stream in each cycle so far.

    def after(self, count):
        """Return (valid, ready) and the counters by name, as they are after the first `count`
        cycles.
        """
        seen = self.cycles[:count]
        state = seen[-1][1:3]
        run = next((n for n, cycle in enumerate(reversed(seen)) if cycle[1:3] != state), None)
        taken = [cycle for cycle in seen if cycle[1] and cycle[2]]
        return state, {
            "since": 0 if run is None else seen[len(seen) - run][0],
            "beats": len(taken),
            "packets": sum(cycle[3] for cycle in taken),
            "stalls": sum(cycle[1] and not cycle[2] for cycle in seen),
        }


@passive
def record(dut, sides):
    while True:
        time = yield dut.time
        for name, side in sides.items():
            endpoint = dut.sides[name]
            side.cycles.append(
                (time, (yield endpoint.valid), (yield endpoint.ready), (yield endpoint.last))
            )
        yield


@passive
def noise(endpoint, rng):
    """Drive valid, ready and last of a user slot stream at random, with short and long runs of one
    state.
    """
    while True:
        for signal in (endpoint.valid, endpoint.ready, endpoint.last):
            yield signal.eq(rng.randrange(2))
        yield from wait(rng.choice([1, 1, 1, 2, 9]))


def copy(dut, names):
    """Take a copy of the monitor by reading `now`, then return the registers `names` of the
    copy.
    """
    yield from dut.regs.read("now")
    found = {}
    for name in names:
        found[name] = yield from dut.regs.read(name)
    return found


@each_seed(2)
def test_a_copy_is_of_one_cycle(seed):
    """All registers of a copy belong to the cycle that `time` gives, even if software reads them
    late.
    """
    print(f"seed {seed}")
    dut, rng = Bench(), random.Random(seed)
    sides = {name: Side() for name in SIDES}

    def host():
        for _ in range(12):
            yield from wait(rng.randrange(3, 40))
            names = [
                "state",
                "time",
                *(f"{side}_{counter}" for side in SIDES for counter in COUNTERS),
            ]
            rng.shuffle(names)
            found = yield from copy(dut, names)
            for number, (name, side) in enumerate(sides.items()):
                # The cycle with time 0 counts, too, so one more cycle than `time` has passed.
                count = found["time"] + 1
                (valid, ready), wanted = side.after(count)
                assert found["state"] >> 2 * number & 3 == valid | ready << 1
                assert {c: found[f"{name}_{c}"] for c in COUNTERS} == wanted

    noises = [noise(endpoint, rng) for endpoint in dut.sides.values()]
    simulate(dut, [host(), record(dut, sides), *noises])


def test_the_copy_is_of_the_cycle_before_last():
    """A copy of the monitor holds the state of two cycles before the one in which `now` was
    read.
    """
    dut = Bench()

    def host():
        yield from wait(20)
        before = yield dut.time
        yield from dut.regs.read("now")
        assert (yield from dut.regs.read("time")) == before + 1 - LATE

    simulate(dut, [host()])


def test_nothing_but_now_takes_a_copy():
    """Only a read of the monitor's register `now` takes a copy. The other registers may be read in
    any order.
    """
    dut = Bench()

    def host():
        names = ["state", "time", *(f"{side}_{c}" for side in SIDES for c in COUNTERS)]
        first = yield from copy(dut, names)
        yield dut.sides["h2c"].valid.eq(1)
        yield dut.sides["c2h"].ready.eq(1)
        yield from wait(30)
        for name in names:
            assert (yield from dut.regs.read(name)) == first[name]
        assert (yield from copy(dut, names)) != first

    simulate(dut, [host()])


def test_a_stall_that_lasts_has_its_beginning():
    """During a stall of a stream `since` keeps the time of its beginning, and `stalls` goes on
    counting.
    """
    dut = Bench()

    def host():
        sink = dut.sides["h2c"]
        yield sink.ready.eq(1)
        yield sink.valid.eq(1)
        yield from wait(10)
        yield sink.ready.eq(0)
        yield
        began = yield dut.time
        for waited in (50, 70):
            yield from wait(waited)
            found = yield from copy(dut, ["time", "h2c_since", "h2c_stalls", "h2c_beats"])
            assert found["h2c_since"] == began
            assert found["h2c_stalls"] == found["time"] - began + 1
            assert found["h2c_beats"] == 10

    simulate(dut, [host()])


def test_time_goes_round_with_its_width():
    """The monitor's times are the lower 48 bits of device time, so differences modulo 2^48 are
    right.
    """
    dut = Bench(start=(1 << SLOT_COUNTER_WIDTH) - 20)

    def host():
        yield from wait(3)
        yield dut.sides["h2c"].valid.eq(1)
        yield from wait(60)
        found = yield from copy(dut, ["time", "h2c_since", "h2c_stalls"])
        assert found["time"] < 100 and found["h2c_since"] > 1 << 47
        passed = (found["time"] - found["h2c_since"]) % (1 << SLOT_COUNTER_WIDTH)
        assert passed == found["h2c_stalls"] - 1

    simulate(dut, [host()])
