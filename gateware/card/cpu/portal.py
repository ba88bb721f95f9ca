# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The portal: the CPU's way out of its memory, from the clock domain `cpu` to `sys`.

    core -> request, held in `cpu` -> `go` -> card's registers (bus) or own registers -> `done`

`cpu` is `sys` divided, with common edges. A request stands still while `go` is high, and an answer
while `done` is. Both are single registers, so either side may see them an edge early or late.

Each side takes the other's signals into registers first, so no logic depends on both domains. A
simulation then computes the core's logic at edges of the core's clock only, and a change inside the
core makes it compute nothing of the registers' bus.

The CPU's clock stops in one place only: while a write to `sleep` waits for an event."""

from functools import reduce
from operator import or_

from litex.gen import *
from litex.soc.interconnect import wishbone
from migen import *

from gateware import numbers
from gateware.card.cpu.layout import EVENTS, OWN, OWN_BASE, PORTAL_BASE, TICKS, WORD


class Portal(LiteXModule):
    """Passes the CPU's accesses to `bus`, and answers those to the CPU's own registers. A write to
    a page of registers that is not in `writable` is dropped and counted."""
    def __init__(self, writable):
        # The CPU's access and its answer, in the clock domain `cpu`.
        self.request = Signal()   # i, an access, held with the next three until `ack`.
        self.address = Signal(30) # i, address of the access in words.
        self.write   = Signal()   # i, the access is a write.
        self.value   = Signal(32) # i, the value to write.
        self.ack     = Signal()   # o, the access has ended.
        # o, the value read. It is written before `ack`, so a reset of the card need not clear it.
        self.answer  = Signal(32, reset_less=True)
        # The bus and signals between CPU and card, in the clock domain `sys`.
        self.bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.reset     = Signal() # i, the CPU is in reset: events are forgotten.
        self.waves     = Signal(len(TICKS)) # i, a bit of device time for each of TICKS
        self.doorbell  = Signal() # i, one cycle: the host rings the CPU's doorbell.
        self.hot       = Signal() # i, the FPGA is at its limit of temperature.
        self.failures  = Signal(2) # i, failed starts since the last heartbeat
        self.asleep    = Signal() # o, the CPU needs no clock.
        self.heartbeat = Signal() # o, one cycle: the firmware says that it works.
        self.ring      = Signal() # o, one cycle: the CPU interrupts the host.
        self.refused   = Signal(8) # o, number of dropped writes, modulo 256.

        # # #

        self.go,   self.done    = Signal(), Signal()
        self.held, self.address_held = Signal(), Signal(30) # The CPU's access, held in `sys`.
        self.value_held = Signal(32)
        self.found      = Signal(32, reset_less=True)       # The value read, held in `sys`.
        access   = [(self.held, self.write), (self.address_held, self.address),
            (self.value_held, self.value)]
        kept     = [Signal(len(core)) for _, core in access] # The CPU's access, held in `cpu`.
        answered = Signal()
        self.comb += self.ack.eq(self.go & answered)
        self.sync.cpu += [
            answered.eq(self.done),
            self.answer.eq(self.found),
            If(self.ack,
                self.go.eq(0),
            ).Elif(self.request & ~answered & ~self.go,
                self.go.eq(1),
                *[copy.eq(core) for copy, (_, core) in zip(kept, access)],
            )
        ]
        own, asked = Signal(), Signal()
        self.finish = Signal() # The access that is asked for ends in this cycle.
        self.comb += own.eq(self.address_held[log2_int((OWN_BASE - PORTAL_BASE)//WORD)])
        self.sync += [
            *[taken.eq(copy) for copy, (taken, _) in zip(kept, access)],
            If(~self.go,
                asked.eq(0),
                self.done.eq(0),
            ).Elif(self.finish,
                asked.eq(0),
                self.done.eq(1),
            ).Elif(~self.done,
                asked.eq(1),
            ),
        ]
        self.add_bus(asked & ~own, writable)
        self.add_own(asked & own)

    def add_bus(self, asked, writable):
        """Passes the CPU's accesses to the card's registers on, but not forbidden writes."""
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
        self.comb += If(asked & (~allowed | bus.ack | bus.err), self.finish.eq(1))
        self.sync += [
            If(asked & ~allowed, self.refused.eq(self.refused + 1)),
            If(asked, self.found.eq(bus.dat_r)),
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
        self.comb += If(asked & ~self.asleep, self.finish.eq(1))
        self.sync += [
            If(asked,
                Case(number, {
                    OWN["events"]//WORD:   self.found.eq(events),
                    OWN["hot"]//WORD:      self.found.eq(self.hot),
                    OWN["failures"]//WORD: self.found.eq(self.failures),
                    "default":             self.found.eq(0),
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
