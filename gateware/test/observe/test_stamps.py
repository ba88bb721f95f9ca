# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of observe/stamps.py, the registers with the device times of a doorbell and its interrupt.

sim/test/card/test_board_stamps.py tests that the right events reach these registers.
"""

import random

from migen import Signal, passive

from gateware.observe.stamps import Stamps
from tools.testing.csr_model import CsrBench
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, wait

WRAP = 2**32


class Pair:
    """Model of the stamps of doorbell and interrupt. cycle() is called with the events of each
    cycle.
    """

    def __init__(self):
        self.doorbell = self.interrupt = 0
        self.waiting = False

    def cycle(self, time, rung, sent):
        if rung:
            self.doorbell, self.waiting = time % WRAP, True
        elif sent and self.waiting:
            self.interrupt, self.waiting = time % WRAP, False


@each_seed(16)
def test_the_pair_is_the_last_doorbell_and_the_first_message_behind_it(seed):
    """The stamps are the device times of the last doorbell and of the first interrupt message after
    it.

    Doorbells and messages are random. They may come in the same cycle, and across the wrap of the
    lower 32 bits of time.
    """
    rng = random.Random(seed)
    dut = Stamps(with_csr=False)
    expected = Pair()
    start = rng.choice([0, WRAP - 500])

    def drive():
        for time in range(start, start + 1000):
            rung, sent = rng.random() < 0.05, rng.random() < 0.1
            yield dut.time.eq(time)
            yield dut.rung.eq(rung)
            yield dut.sent.eq(sent)
            yield
            found = [(yield dut.doorbell), (yield dut.interrupt), (yield dut.waiting)]
            assert found == [expected.doorbell, expected.interrupt, expected.waiting], time
            expected.cycle(time, rung, sent)

    simulate(dut, [drive()])


@each_seed(8)
def test_software_reads_a_pair_while_messages_go_on(seed):
    """Once the register `waiting` is 0, both stamps stay the same, so software may read them in any
    order.
    """
    rng = random.Random(seed)
    dut = Stamps()
    bench = CsrBench(dut)
    clock = Signal(32)
    stamped = []
    bench.comb += dut.time.eq(clock)
    bench.sync += clock.eq(clock + 1)

    @passive
    def messages():
        while True:
            yield from wait(rng.randrange(1, 9))
            yield dut.sent.eq(1)
            stamped.append((yield clock) + 1)
            yield
            yield dut.sent.eq(0)

    def read():
        for _ in range(20):
            yield dut.rung.eq(1)
            rung = (yield clock) + 1
            yield
            yield dut.rung.eq(0)
            while (yield from bench.read("waiting")):
                pass
            names = ["doorbell", "interrupt", "doorbell", "interrupt"]
            rng.shuffle(names)
            found = []
            for name in names:
                yield from wait(rng.randrange(20))
                found.append((name, (yield from bench.read(name))))
            first = next(time for time in stamped if time > rung)
            assert set(found) == {("doorbell", rung), ("interrupt", first)}

    simulate(bench, [read(), messages()])
