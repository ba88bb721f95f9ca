# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Counts beats, stalls, TLPs and payload bytes of the PHY's four TLP streams CQ, CC, RQ and RC.

The counters only watch the streams, through TlpEvents: no handshake passes through them. They do
not see what the hard block does below the streams (credits, replays, link state)."""

from litex.gen import *
from litex.soc.interconnect.csr import *
from migen import *

from gateware.numbers import COUNTER_WIDTH
from gateware.observe.bits import COUNTERS_CONTROL

COUNTERS = {
    "beats":         "Beats accepted.",
    "stalls":        "Cycles in which a beat was offered and not accepted.",
    "tlps":          "TLPs, counted with their first beat.",
    "payload_bytes": "Payload bytes of these TLPs, by the header's length field.",
    "first":         "Device time of the first beat since the last clear, 0 if there was none.",
    "last":          "Device time of the last beat since the last clear, 0 if there was none.",
}

# Stream monitor -----------------------------------------------------------------------------------

class StreamMonitor(LiteXModule):
    """Counts the events of one TLP stream. The events are one cycle late, so `time` must be device
    time of the cycle before."""
    def __init__(self, events, time):
        self.clear = Signal() # i, one cycle: all counters of the stream restart at 0.
        for name in COUNTERS:
            setattr(self, name, Signal(COUNTER_WIDTH, name=name)) # o

        # # #

        for counter, increment in [
            (self.beats,         events.beat),
            (self.stalls,        events.stall),
            (self.tlps,          events.tlps),
            (self.payload_bytes, events.payload),
        ]:
            # An event in the cycle of a clear is counted in the interval that begins, so no event
            # is lost.
            self.sync += counter.eq(Mux(self.clear, 0, counter) + increment)

        seen = Signal()
        self.sync += If(events.beat,
            seen.eq(1),
            self.last.eq(time),
            If(self.clear | ~seen, self.first.eq(time)),
        ).Elif(self.clear,
            seen.eq(0),
            self.last.eq(0),
            self.first.eq(0),
        )

# PCIe counters ------------------------------------------------------------------------------------

class PcieCounters(LiteXModule):
    """Counts the events of several TLP streams. Software reads the counters through a snapshot.
    `events` has the TlpEvents of each stream, by the stream's name.

    A snapshot copies every counter and the device time at one clock edge, so the values of one
    snapshot belong together. If the same register write sets `clear`, the counters start again at
    that edge, so no event is lost between two intervals."""
    def __init__(self, events, time, with_csr=True):
        self.snapshot  = Signal() # i, one cycle: every counter is copied for software to read.
        self.clear     = Signal() # i, one cycle: every counter restarts at 0, but its copy stays.
        # o, the counters copied by the last snapshot, by name
        self.latched   = {}
        self.time_late = Signal(COUNTER_WIDTH) # o, device time of the cycle before, in cycles

        # # #

        # TlpEvents come one cycle late, so the device time noted with them does, too.
        self.sync += self.time_late.eq(time)
        self._latch("time", self.time_late)

        for prefix, watched in events.items():
            monitor = StreamMonitor(watched, self.time_late)
            self.add_module(name=f"{prefix}_events", module=watched)
            self.add_module(name=prefix, module=monitor)
            self.comb += monitor.clear.eq(self.clear)
            for name in COUNTERS:
                self._latch(f"{prefix}_{name}", getattr(monitor, name))

        if with_csr:
            self.add_csr()

    def _latch(self, name, value):
        latched = self.latched[name] = Signal(COUNTER_WIDTH, name=f"latched_{name}")
        self.sync += If(self.snapshot, latched.eq(value))

    def add_csr(self):
        """Adds the register for snapshot and clear, and one for each copied counter."""
        self._control = CSRStorage(name="control", fields=[
            CSRField("snapshot", size=1, offset=COUNTERS_CONTROL["snapshot"], pulse=True,
                description="Copy every counter at one instant into the registers below."),
            CSRField("clear", size=1, offset=COUNTERS_CONTROL["clear"], pulse=True,
                description="Set every counter, not its copy, to zero."),
        ])
        # The pulses `snapshot` and `clear` come from registers, since each of them drives some
        # thousand flip-flops.
        self.sync += [
            self.snapshot.eq(self._control.fields.snapshot),
            self.clear.eq(self._control.fields.clear),
        ]
        for name, value in self.latched.items():
            status = CSRStatus(COUNTER_WIDTH, name=name, description=self._describe(name))
            setattr(self, f"_{name}", status)
            self.comb += status.status.eq(value)

    def _describe(self, name):
        if name == "time":
            return "Device time of the snapshot, in ticks of one cycle."
        prefix, counter = name.split("_", 1)
        return f"{prefix.upper()}: {COUNTERS[counter]}"
