# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Interrupt moderation: if interrupts of a DMA direction come fast, one message is sent for
several.

An interrupt passes at once if the last one was sent `interval` cycles ago or earlier, so a slow
stream is not delayed. An interrupt that is raised sooner waits for the end of the interval, or
until `count` interrupts wait. Software finds in memory or in registers what an interrupt announces,
so one later interrupt can announce all of it."""

from litex.gen import *
from litex.soc.interconnect.csr import *
from migen import *

# Width of the moderation interval in cycles of 4 ns. So an interval has at most 67 ms.
INTERVAL_BITS = 24
# Width of the number of waiting interrupts that are sent without waiting for the interval's end.
COUNT_BITS    = 8

class Moderation(LiteXModule):
    """Moderates the interrupts of one DMA direction. With an `interval` of 0 every interrupt passes
    in its own cycle."""
    def __init__(self):
        self.wanted   = Signal() # i, one cycle: the DMA engine raises an interrupt.
        self.irq      = Signal() # o, one cycle: an interrupt message is sent.
        # i, interval: the least cycles from one sent interrupt to the next.
        self.interval = Signal(INTERVAL_BITS)
        # i, when this many interrupts wait, one message is sent for them before the interval's end;
        # 0 counts as 1.
        self.count    = Signal(COUNT_BITS)
        self.waits    = Signal() # o, at least one raised interrupt is kept back.

        # # #

        # `wanted` comes late in the cycle, so all logic but `irq` uses `asked`, its register.
        asked, sent = Signal(), Signal()
        left  = Signal(INTERVAL_BITS)
        past  = Signal(reset=1)    # The moderation interval has ended before this cycle.
        over  = Signal()           # The moderation interval has ended, or moderation is off.
        kept  = Signal(COUNT_BITS) # Number of interrupts that were kept back in the cycle before.
        here  = Signal(COUNT_BITS) # Number of interrupts that are kept back in this cycle.
        # One interrupt more makes as many as `count`, so it is sent at once.
        full  = Signal()
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

# Registers of interrupt moderation ----------------------------------------------------------------

def _moderation_register(name, way):
    return CSRStorage(name=name, fields=[
        CSRField("interval", size=INTERVAL_BITS,
            description=f"Cycles between two interrupts of {way}; 0: no moderation."),
        CSRField("count", size=COUNT_BITS,
            description="If so many interrupts wait, a message is sent for them before the "
                "interval's end; 0 counts as 1."),
    ])

class ModerationRegisters(LiteXModule):
    """The registers for interrupt moderation of both DMA directions, which is off after reset."""
    def __init__(self, h2c, c2h):
        self.reader = _moderation_register("reader", "h2c")
        self.writer = _moderation_register("writer", "c2h")

        # # #

        for moderation, register in ((h2c, self.reader), (c2h, self.writer)):
            self.comb += [
                moderation.interval.eq(register.fields.interval),
                moderation.count.eq(register.fields.count),
            ]
