# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The monitor of the user slot: it counts the beats, packets and stalls of the slot's two streams,
and notes since when each stream has been in its present state.

`h2c` is the slot's sink, `c2h` its source. The monitor only watches, behind registers, so it adds
no logic to the streams. A stall is a cycle with `valid` and without `ready`. In h2c the user's
logic causes stalls. In c2h the DMA causes them, when it has no room or no buffer. A cycle without
`valid` is no stall.

Only the card's reset clears the counters. Software takes two readings and subtracts. So several
programs may read at the same time, and none needs the right to write."""

from litex.gen import *
from litex.soc.interconnect.csr import *
from migen import *

from gateware.numbers import SLOT_COUNTER_WIDTH

SIDES    = ("h2c", "c2h")
COUNTERS = {
    "since":   "Device time of the first cycle in which ``valid`` and ``ready`` were as they are.",
    "beats":   "Beats taken.",
    "packets": "Of these, beats with ``last``.",
    "stalls":  "Cycles with ``valid`` and without ``ready``.",
}

FIELDS = {
    "h2c_valid": "``sink.valid``",
    "h2c_ready": "``sink.ready``",
    "c2h_valid": "``source.valid``",
    "c2h_ready": "``source.ready``",
}

class SideMonitor(LiteXModule):
    """Watches one stream of the user slot, `endpoint`. All outputs show its state two cycles ago.

    `time` must be device time of the cycle before."""
    def __init__(self, endpoint, time):
        self.valid = Signal() # o
        self.ready = Signal() # o
        for name in COUNTERS:
            setattr(self, name, Signal(SLOT_COUNTER_WIDTH, name=name)) # o

        # # #

        valid, ready, last = Signal(), Signal(), Signal()
        self.sync += [
            valid.eq(endpoint.valid),
            ready.eq(endpoint.ready),
            last.eq(endpoint.last),
            self.valid.eq(valid),
            self.ready.eq(ready),
            If(Cat(valid, ready) != Cat(self.valid, self.ready), self.since.eq(time)),
            If(valid & ready, self.beats.eq(self.beats + 1)),
            If(valid & ready & last, self.packets.eq(self.packets + 1)),
            If(valid & ~ready, self.stalls.eq(self.stalls + 1)),
        ]

class SlotMonitor(LiteXModule):
    """Watches both streams of the user slot. Software reads the counters through a copy.

    Reading the register `now` copies all counters at one clock edge, so the registers read after it
    belong together. Another program may take a copy meanwhile. So a program reads the register
    `time` first and again at the end. If `time` is unchanged, all values that the program has read
    are of one copy. The argument `time` must be device time of the cycle before."""
    def __init__(self, sink, source, time, with_csr=True):
        self.h2c   = SideMonitor(sink, time)
        self.c2h   = SideMonitor(source, time)
        self.copy  = Signal() # i, one cycle: state, time and all counters are copied for software.
        # o, present valid and ready of the h2c stream, then of the c2h stream
        self.now   = Signal(len(FIELDS))
        self.state = Signal(len(FIELDS))        # o, value of `now` in the last copy
        self.time  = Signal(SLOT_COUNTER_WIDTH) # o, device time of the last copy, in cycles
        # o, counters of the last copy, by stream (h2c or c2h) and counter
        self.taken = {}

        # # #

        # Device time two cycles ago, because SideMonitor shows its stream two cycles late, too.
        settled = Signal(SLOT_COUNTER_WIDTH)
        self.comb += self.now.eq(Cat(*(signal for name in SIDES
            for signal in (getattr(self, name).valid, getattr(self, name).ready))))
        self.sync += [
            settled.eq(time),
            If(self.copy, self.state.eq(self.now), self.time.eq(settled)),
        ]
        for side in SIDES:
            for counter in COUNTERS:
                name  = f"{side}_{counter}"
                taken = self.taken[name] = Signal(SLOT_COUNTER_WIDTH, name=f"taken_{name}")
                self.sync += If(self.copy, taken.eq(getattr(getattr(self, side), counter)))

        if with_csr:
            self.add_csr()

    def add_csr(self):
        """Adds the registers with the present state and those with the copy."""
        self._now   = CSRStatus(name="now", fields=self._fields(),
            description="What both streams do now. Reading this register copies all counters to "
                "the registers below.")
        self._state = CSRStatus(name="state", fields=self._fields(),
            description="The value of ``now`` in the last copy.")
        self._time  = CSRStatus(SLOT_COUNTER_WIDTH, name="time",
            description="Device time of the last copy in cycles, modulo 2^48. All counters below "
                "are modulo 2^48, too.")
        for register, value in ((self._now, self.now), (self._state, self.state)):
            fields     = [getattr(register.fields, name) for name in FIELDS]
            self.comb += Cat(*fields).eq(value)
        self.comb += [
            self._time.status.eq(self.time),
            self.copy.eq(self._now.we),
        ]
        for name, value in self.taken.items():
            side, counter = name.split("_")
            status = CSRStatus(SLOT_COUNTER_WIDTH, name=name,
                description=f"{side}: {COUNTERS[counter]}")
            setattr(self, f"_{name}", status)
            self.comb += status.status.eq(value)

    @staticmethod
    def _fields():
        return [CSRField(name, size=1, description=f"{about}.") for name, about in FIELDS.items()]
