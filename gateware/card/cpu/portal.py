# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The portal: the CPU's way out of its memory, from the clock domain `cpu` to `sys`.

    core -> request, held in `cpu` -> `go` -> card's registers (bus) or own registers -> `done`

`cpu` is `sys` divided, with common edges. A request stands still in registers while `go` is high,
and an answer while `done` is. Both are single registers, so either side may see them an edge early
or late.

The CPU's clock stops in one place only: while a write to `sleep` waits for an event.
"""

from functools import reduce
from operator import or_

from litex.gen import *
from litex.soc.interconnect import wishbone
from migen import *

from gateware import numbers
from gateware.card.cpu.layout import EVENTS, OWN, OWN_BASE, PORTAL_BASE, TICKS, WORD


class Portal(LiteXModule):
    """Passes the CPU's accesses to `bus`, and answers those to the CPU's own registers.

    `writable` has the register pages to which the CPU may write. A write to another one is dropped
    and counted.
    """
    def __init__(self, writable):
        # Signals of the clock domain `cpu`.
        self.request = Signal()   # i, held with the next three until `ack`.
        self.address = Signal(30) # i, in words.
        self.write   = Signal()   # i
        self.value   = Signal(32) # i
        self.ack     = Signal()   # o
        # o. It is written before `done`, so a reset of the card need not clear it.
        self.answer  = Signal(32, reset_less=True)
        # Signals of the clock domain `sys`.
        self.bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.reset     = Signal() # i, the CPU is in reset: events are forgotten.
        self.waves     = Signal(len(TICKS)) # i, a bit of device time for each of TICKS
        self.doorbell  = Signal() # i, a pulse: the host rings.
        self.hot       = Signal() # i, the FPGA is at its limit of temperature.
        self.failures  = Signal(2) # i
        self.asleep    = Signal() # o, the CPU needs no clock.
        self.heartbeat = Signal() # o, a pulse
        self.ring      = Signal() # o, a pulse: the CPU rings.
        self.refused   = Signal(8) # o, writes that were dropped.

        # # #

        self.go,   self.done    = Signal(), Signal()
        self.held, self.address_held = Signal(), Signal(30)
        self.value_held = Signal(32)
        self.comb += self.ack.eq(self.go & self.done)
        self.sync.cpu += [
            If(self.ack,
                self.go.eq(0),
            ).Elif(self.request & ~self.done & ~self.go,
                self.go.eq(1),
                self.held.eq(self.write),
                self.address_held.eq(self.address),
                self.value_held.eq(self.value),
            )
        ]
        own, asked = Signal(), Signal()
        self.comb += [
            own.eq(self.address_held[log2_int((OWN_BASE - PORTAL_BASE)//WORD)]),
            asked.eq(self.go & ~self.done),
        ]
        self.sync += If(~self.go, self.done.eq(0))
        self.add_bus(asked & ~own, writable)
        self.add_own(asked & own)

    def add_bus(self, asked, writable):
        """Passes accesses to the card's registers on, apart from writes that are not allowed."""
        bus, page = self.bus, log2_int(numbers.CSR_PAGE_WORDS)
        words     = numbers.CSR_SIZE//WORD
        allowed   = Signal()
        self.comb += [
            allowed.eq(~self.held | reduce(or_, (
                self.address_held[page:log2_int(words)] == n for n in writable), 0)),
            bus.cyc.eq(asked & allowed),
            bus.stb.eq(asked & allowed),
            bus.we.eq(self.held),
            bus.sel.eq(0xf),
            bus.adr.eq(numbers.CSR_BASE//WORD | self.address_held[:log2_int(words)]),
            bus.dat_w.eq(self.value_held),
        ]
        self.sync += [
            If(asked & ~allowed, self.done.eq(1), self.refused.eq(self.refused + 1)),
            If(asked & allowed & (bus.ack | bus.err), self.done.eq(1), self.answer.eq(bus.dat_r)),
        ]

    def add_own(self, asked):
        """Adds the CPU's own registers (OWN) and its events (EVENTS)."""
        events, hot = Signal(len(EVENTS)), Signal()
        tick, waves = Signal(len(TICKS)), Signal(len(TICKS))
        chosen = {name: Signal(name=f"at_{name}") for name in OWN}
        number = self.address_held[:3]
        self.comb += [
            *[chosen[name].eq(asked & (number == place//WORD)) for name, place in OWN.items()],
            # The CPU takes the answer only if it has a clock, so `asleep` ends with the event.
            self.asleep.eq(chosen["sleep"] & self.held & ((events & self.value_held) == 0)),
            self.heartbeat.eq(chosen["heartbeat"] & self.held),
            self.ring.eq(chosen["doorbell"] & self.held),
        ]
        self.sync += [
            If(asked & ~self.asleep,
                self.done.eq(1),
                Case(number, {
                    OWN["events"]//WORD:   self.answer.eq(events),
                    OWN["hot"]//WORD:      self.answer.eq(self.hot),
                    OWN["failures"]//WORD: self.answer.eq(self.failures),
                    "default":             self.answer.eq(0),
                }),
            ),
            If(chosen["events"] & self.held, events.eq(events & ~self.value_held)),
            # An event that comes in the cycle in which its bit is cleared is not lost.
            If(self.doorbell, events[EVENTS["doorbell"]].eq(1)),
            hot.eq(self.hot),
            If(self.hot & ~hot, events[EVENTS["hot"]].eq(1)),
            If(~self.hot & hot, events[EVENTS["cool"]].eq(1)),
            waves.eq(self.waves),
            If((tick & waves & ~self.waves) != 0, events[EVENTS["tick"]].eq(1)),
            If(chosen["tick"] & self.held, tick.eq(self.value_held)),
            If(self.reset, events.eq(0), tick.eq(0)),
        ]
