# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/testing/compiled_sim.py: it gives the same values as Migen's own simulator."""

import random

import migen.sim
from litex.gen import LiteXModule
from litex.soc.interconnect.stream import SyncFIFO
from migen import Array, Case, Cat, If, Memory, Mux, Replicate, Signal

from tools.testing import compiled_sim
from tools.testing.seeds import each_seed

WIDTHS = (1, 3, 8, 16)


class Everything(LiteXModule):
    """A random Migen design with all kinds of expression and statement, over few inputs and
    registers.
    """

    def __init__(self, rng):
        self.inputs = [Signal(bits) for bits in WIDTHS]
        self.registers = [Signal(bits, reset=rng.getrandbits(bits)) for bits in WIDTHS]
        self.signed = Signal((6, True))
        self.wires = [Signal(bits) for bits in WIDTHS]
        # The array has three entries, so an index of 3 selects the last one.
        self.table = Array(Signal(5, reset=n) for n in range(3))
        self.memory = Memory(8, 8, init=range(8))
        self.port = self.memory.get_port(write_capable=True)
        self.specials += self.memory, self.port
        self.fifo = SyncFIFO([("data", 8)], 4, buffered=True)
        self.rng = rng
        self.sources = [
            *self.inputs,
            *self.registers,
            self.signed,
            self.port.dat_r,
            self.fifo.source.data,
            self.fifo.source.valid,
            self.fifo.sink.ready,
        ]
        # A wire reads only signals made before it, so there is no combinational loop.
        for wire in self.wires:
            self.comb += self.assignments(wire)
            self.sources.append(wire)
        for register in (*self.registers, self.signed):
            self.sync += self.assignments(register)
        self.sync += self.table[self.inputs[1][:2]].eq(self.any())
        self.sync += Cat(self.table[0], self.registers[2]).eq(self.any())
        self.comb += [
            self.port.adr.eq(self.any()),
            self.port.dat_w.eq(self.any()),
            self.port.we.eq(self.inputs[0]),
            self.fifo.sink.data.eq(self.any()),
            self.fifo.sink.valid.eq(self.inputs[1][0]),
            self.fifo.source.ready.eq(self.inputs[2][0]),
        ]

    def any(self, depth=3):
        rng, pick = self.rng, lambda: self.any(depth - 1)
        if depth == 0:
            return rng.choice([*self.sources, rng.getrandbits(4)])
        value = rng.choice(self.sources)
        return rng.choice(
            [
                lambda: pick() + pick(),
                lambda: pick() - pick(),
                lambda: pick() ^ pick(),
                lambda: pick() & ~value,
                lambda: pick() | pick(),
                lambda: value == pick(),
                lambda: value < pick(),
                lambda: value != pick(),
                lambda: value[0],
                lambda: Mux(value[0], pick(), pick()),
                lambda: value[len(value) // 2 :],
                lambda: Cat(value, value[0], self.signed),
                lambda: Replicate(value[-1], 3),
                lambda: value << 2,
                lambda: value >> 1,
                lambda: self.table[value[:2]],
                lambda: -value,
                lambda: ~value,
            ]
        )()

    def assignments(self, target):
        low = target[: 1 + len(target) // 2]
        return [
            target.eq(self.any()),
            If(self.any(), target.eq(self.any()), low.eq(self.any())).Elif(
                self.any(), target[-1].eq(self.any())
            ),
            Case(
                self.any(self.rng.randrange(3)),
                {
                    0: target.eq(self.any()),
                    1: [low.eq(self.any())],
                    **({"default": target.eq(target + 1)} if target in self.registers else {}),
                },
            ),
        ]


def trace(seed, run_simulation):
    """Simulate a random design and return the values of all its signals in each of 60 cycles.
    `seed` decides design and inputs.
    """
    dut, rng, seen = Everything(random.Random(seed)), random.Random(seed), []

    def drive():
        for _ in range(60):
            for signal in dut.inputs:
                yield signal.eq(rng.getrandbits(len(signal)))
            values = []
            for signal in (*dut.sources, *dut.table):
                values.append((yield signal))
            seen.append(values)
            yield

    run_simulation(dut, drive())
    return seen


@each_seed(8)
def test_the_same_values_in_each_cycle(seed):
    """compiled_sim.py gives registers, wires, a memory, an array and a FIFO of random designs the
    values that Migen's own simulator gives.
    """
    print(f"seed {seed}")
    expected = trace(seed, migen.sim.run_simulation)
    assert len({str(values) for values in expected}) > 30, "the random design hardly changes"
    assert trace(seed, compiled_sim.run_simulation) == expected
