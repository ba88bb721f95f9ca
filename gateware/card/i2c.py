# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Drives an I2C bus symbol by symbol: a start, a bit or a stop.

A symbol has four phases of equal length. The table SYMBOLS says whether each line is released in
each phase:

               start      bit       stop
    phase     0 1 2 3   0 1 2 3   0 1 2 3
    SCL       * 1 1 0   0 1 1 0   0 1 1 1      *: released if the bus was idle, low otherwise
    SDA       1 1 0 0   b b b b   0 0 1 1      b: the bit

A phase with SCL released begins when SCL is high, so a slave may stretch the clock. LiteX's
I2CMaster goes on by its own clock whatever SCL does, so it cannot be used here."""

from litex.gen import *
from migen import *

# Length of a phase in seconds. SCL is low and high for two phases each; fast mode asks for 1.3 us
# and 0.6 us.
PHASE_SECONDS = 0.66e-6
# A slave that holds SCL low for longer than this, in seconds, counts as broken. SFF-8636 allows a
# module 500 us.
STRETCH_SECONDS = 1e-3
PHASES = 4

START, BIT, STOP = range(3)
# (SCL, SDA) of the symbols START and STOP, a bit for each phase, phase 0 in bit 0.
SYMBOLS = {START: (0b0110, 0b0011), STOP: (0b1110, 0b1100)}
BIT_CLOCK = 0b0110

class I2cBus(LiteXModule):
    """Sends one symbol for each cycle of `go`, and pulses `done` at its end.

    `phase_cycles` and `stretch_cycles` are lengths in cycles of the clock. `scl` and `sda` are the
    lines, synchronised by the user of this block."""
    def __init__(self, phase_cycles, stretch_cycles):
        self.symbol   = Signal(2) # i, with `go`: START, BIT or STOP.
        self.bit      = Signal()  # i, with `go`: value of the bit to send; 1 to read a bit.
        self.go       = Signal()  # i, begin a symbol, only while `done` or idle.
        self.done     = Signal()  # o, one cycle: the symbol has ended.
        self.sampled  = Signal()  # o, SDA in the middle of the last symbol's high phases.
        self.stuck    = Signal()  # o, with `done`: SCL was held low for too long.
        self.scl      = Signal()  # i
        self.sda      = Signal()  # i
        self.scl_low  = Signal()  # o, pull SCL low.
        self.sda_low  = Signal()  # o, pull SDA low.

        # # #

        idle    = Signal(reset=1)
        running = Signal()
        symbol  = Signal(2)
        bit     = Signal()
        phase   = Signal(max=PHASES)
        left    = Signal(max=phase_cycles)
        patient = Signal(max=stretch_cycles + 1, reset=stretch_cycles)
        clock   = Signal(PHASES)
        data    = Signal(PHASES)
        held    = Signal()

        self.comb += [
            Case(symbol, {
                START:     [clock.eq(SYMBOLS[START][0] | idle), data.eq(SYMBOLS[START][1])],
                STOP:      [clock.eq(SYMBOLS[STOP][0]), data.eq(SYMBOLS[STOP][1])],
                "default": [clock.eq(BIT_CLOCK), data.eq(Replicate(bit, PHASES))],
            }),
            held.eq((clock >> phase)[0] & ~self.scl),
        ]
        self.sync += [
            self.done.eq(0),
            If(self.go,
                running.eq(1), symbol.eq(self.symbol), bit.eq(self.bit), phase.eq(0),
                left.eq(phase_cycles - 1), patient.eq(patient.reset),
            ).Elif(running,
                self.scl_low.eq(~(clock >> phase)[0]),
                self.sda_low.eq(~(data >> phase)[0]),
                If(held & (patient != 0),
                    patient.eq(patient - 1),
                    left.eq(phase_cycles - 1),
                ).Elif(left != 0,
                    left.eq(left - 1),
                ).Else(
                    left.eq(phase_cycles - 1),
                    phase.eq(phase + 1),
                    If(phase == 2, self.sampled.eq(self.sda)),
                    If(phase == PHASES - 1,
                        running.eq(0), self.done.eq(1), self.stuck.eq(patient == 0),
                        idle.eq(symbol == STOP),
                    ),
                ),
            ),
        ]
