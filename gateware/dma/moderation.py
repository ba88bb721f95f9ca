# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Interrupt moderation: if interrupts of a direction come fast, one is sent for several.

An interrupt that comes `interval` cycles or more after the last one is sent at once, so a slow
stream is not delayed. One that comes sooner waits for the end of the interval, or until `count`
interrupts wait. What an interrupt announces is in memory or in registers before it, so a later
interrupt announces all of it.
"""

from litex.gen import *
from litex.soc.interconnect.csr import *
from migen import *

INTERVAL_BITS = 24 # Up to 67 ms.
COUNT_BITS    = 8

class Moderation(LiteXModule):
    """The interrupts of one direction. An `interval` of 0 lets every one pass in its cycle."""
    def __init__(self):
        self.wanted   = Signal()              # i, one cycle: an interrupt is wanted.
        self.irq      = Signal()              # o, one cycle: an interrupt is sent.
        self.interval = Signal(INTERVAL_BITS) # i, cycles from one to the next.
        self.count    = Signal(COUNT_BITS)    # i, when so many wait they are sent; 0 as 1: no wait.
        self.waits    = Signal()              # o, an interrupt is kept back.

        # # #

        # Only `irq` uses `wanted` in the same cycle: the engines' paths to it are long.
        asked, sent = Signal(), Signal()
        left  = Signal(INTERVAL_BITS)
        past  = Signal(reset=1)    # The interval ended before this cycle.
        over  = Signal()           # The interval is over, or there is none.
        kept  = Signal(COUNT_BITS) # Waiting before this cycle.
        here  = Signal(COUNT_BITS) # Waiting in this cycle.
        full  = Signal()           # One more would make `count`.
        self.comb += [
            over.eq((past & ~sent) | (self.interval <= 1)),
            If(~sent, here.eq(kept + asked)),
            full.eq(here + 1 >= self.count),
            self.waits.eq(here != 0),
            self.irq.eq((self.wanted & (over | full)) | (self.waits & over)),
        ]
        self.sync += [
            asked.eq(self.wanted),
            sent.eq(self.irq),
            kept.eq(here),
            If(sent,
                left.eq(self.interval),
                past.eq(self.interval <= 2)
            ).Else(
                left.eq(left - 1),
                past.eq(past | (left <= 3))
            ),
        ]

# Registers ----------------------------------------------------------------------------------------

def _moderation_register(name, way):
    return CSRStorage(name=name, fields=[
        CSRField("interval", size=INTERVAL_BITS,
            description=f"Cycles between two interrupts of {way}; 0: no moderation."),
        CSRField("count", size=COUNT_BITS,
            description="So many of them do not wait for the interval's end; 0 as 1."),
    ])

class ModerationRegisters(LiteXModule):
    """The registers with which software sets both directions. After reset there is no moderation.
    """
    def __init__(self, h2c, c2h):
        self.reader = _moderation_register("reader", "h2c")
        self.writer = _moderation_register("writer", "c2h")

        # # #

        for moderation, register in ((h2c, self.reader), (c2h, self.writer)):
            self.comb += [
                moderation.interval.eq(register.fields.interval),
                moderation.count.eq(register.fields.count),
            ]
