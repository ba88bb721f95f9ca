# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The cage of a QSFP module: its I2C bus, by which software reads and writes up to 128 bytes of the
module's memory at a time, and its low-speed pins (SFF-8679).

    buffer <-> transfer (which byte next) -> I2cBus (which line when) -> pins

A transfer selects the module, waits until the module may be spoken to, frees the bus if a module
holds SDA low, reads or writes, and lets the module go. The module stays selected only if software
asked for that with `keep`."""

from litex.gen import *
from litex.gen.genlib.misc import WaitTimer
from litex.soc.interconnect.csr import *
from migen import *
from migen.genlib.cdc import MultiReg

from gateware.card.i2c import BIT, PHASE_SECONDS, START, STOP, STRETCH_SECONDS, I2cBus

BUFFER_BYTES = 128 # The most bytes of a transfer: half a page of a module's memory.
SELECT_SECONDS  = 2e-3  # From a module's selection until it can be accessed (SFF-8679).
HOLD_SECONDS    = 10e-6 # From a transfer until a module may be deselected (SFF-8679).
RECOVERY_CLOCKS = 9 # This many clocks end any byte in which a module holds SDA low.
BYTE_BITS       = 8
ADDRESS         = 0x50 # I2C address of every module.
PAGE_SELECT     = 127  # Address, in a module's memory, of the number of the upper page.

# Values of the register field `error`: why a module's transfer failed.
ERRORS = {
    "none":     0,
    "absent":   1, # No module is in the cage.
    "silent":   2, # The module did not acknowledge its address.
    "refused":  3, # The module did not acknowledge a byte.
    "sda_held": 4, # SDA is low, and nine clocks did not free it.
    "scl_held": 5, # SCL was low for longer than a module may stretch the clock.
    "length":   6, # Software asked for no byte, or for more than the buffer has.
}

def cage_pins():
    """Returns the pins of a cage, as signals inside the FPGA. A line of I2C has two: one to pull it
    low, one to read it."""
    return Record([("scl_low", 1), ("sda_low", 1), ("scl", 1), ("sda", 1), ("modsel_n", 1),
        ("reset_n", 1), ("lpmode", 1), ("modprs_n", 1), ("int_n", 1)])

class ByteSender(LiteXModule):
    """Sends or receives the eight bits of a byte, then the acknowledgement.

    A clock that is stretched for too long ends the byte at once; then `bus.stuck` is high."""
    def __init__(self, bus):
        self.go      = Signal()          # i, one cycle: begin a byte.
        self.read    = Signal()          # i, with `go`: read a byte instead of sending one.
        self.last    = Signal()          # i, with `go`: a read byte is not acknowledged.
        self.data    = Signal(BYTE_BITS) # i, with `go`: the byte to send.
        self.result  = Signal(BYTE_BITS) # o, the byte as it was on the bus.
        self.refused = Signal()          # o, with `done`: no module acknowledged the byte.
        self.done    = Signal()          # o
        self.bit_go  = Signal()          # o, the bus must send the bit `bit`.
        self.bit     = Signal()          # o

        # # #

        count   = Signal(max=BYTE_BITS + 2)
        running = Signal()
        read    = Signal()
        last    = Signal()
        shift   = Signal(BYTE_BITS)
        step    = Signal() # The bus is done with one bit of the byte.

        self.comb += [
            step.eq(running & bus.done),
            self.done.eq(step & ((count == BYTE_BITS) | bus.stuck)),
            self.refused.eq(bus.sampled & ~read),
            self.bit_go.eq(self.go | (step & ~self.done)),
            If(self.go,
                self.bit.eq(self.data[-1] | self.read),
            ).Elif(count == BYTE_BITS - 1,
                self.bit.eq(~read | last), # The ninth bit: 0 acknowledges.
            ).Else(
                self.bit.eq(shift[-2] | read),
            ),
        ]
        self.sync += [
            If(self.go,
                running.eq(1), read.eq(self.read), last.eq(self.last), shift.eq(self.data),
                count.eq(0),
            ).Elif(step,
                count.eq(count + 1),
                shift.eq(shift << 1),
                If(count != BYTE_BITS, self.result.eq(Cat(bus.sampled, self.result))),
                If(self.done, running.eq(0)),
            ),
        ]

class Module(LiteXModule):
    """A cage's registers and pins. `clock` is the frequency of the user clock in Hz.

    `quiet` holds the module in reset and in low power, whatever the registers say. `busy` is high
    during a transfer, so device time must run. `select_seconds` is shorter in tests alone."""
    def __init__(self, clock, select_seconds=SELECT_SECONDS):
        self.pins  = cage_pins()
        self.quiet = Signal() # i
        self.busy  = Signal() # o

        # # #

        def cycles(seconds):
            return max(round(seconds*clock), 2)

        self.bus  = I2cBus(cycles(PHASE_SECONDS), cycles(STRETCH_SECONDS))
        self.byte = ByteSender(self.bus)
        self.absent, self.interrupt = Signal(), Signal()
        self.specials += [
            MultiReg(self.pins.scl, self.bus.scl, reset=1),
            MultiReg(self.pins.sda, self.bus.sda, reset=1),
            MultiReg(self.pins.modprs_n, self.absent),
            MultiReg(~self.pins.int_n, self.interrupt),
        ]
        self.add_csr()
        self.add_buffer()
        self.add_transfer(cycles(select_seconds), cycles(HOLD_SECONDS))
        self.comb += [
            self.pins.scl_low.eq(self.bus.scl_low),
            self.pins.sda_low.eq(self.bus.sda_low),
            self.pins.reset_n.eq(~(self._control.fields.reset | self.quiet)),
            self.pins.lpmode.eq(self._control.fields.low_power | self.quiet),
            self._status.fields.present.eq(~self.absent),
            self._status.fields.interrupt.eq(self.interrupt),
            self._status.fields.quiet.eq(self.quiet),
            self._status.fields.busy.eq(self.busy),
        ]

    def add_csr(self):
        """Adds the registers by which software reads and writes modules."""
        self._control = CSRStorage(fields=[
            CSRField("reset", size=1, offset=0, description="Hold the module in reset."),
            CSRField("low_power", size=1, offset=1, reset=1,
                description="Ask the module for low power (pin LPMode)."),
        ])
        def place():
            return [
                CSRField("offset", size=8, offset=0, description="Address in the module's memory."),
                CSRField("length", size=8, offset=8, description="Bytes to move: 1 to 128."),
                CSRField("page", size=8, offset=16, description="Page to read from. It is selected "
                    "first if the offset is above 127. For a write it has no meaning."),
                CSRField("keep", size=1, offset=24,
                    description="Leave the module selected for the next transfer."),
            ]

        # Two registers, so that the driver can let a user read modules but not write to them.
        self._read = CSRStorage(fields=place(),
            description="Writing this register reads from the module, if no transfer is running.")
        self._write = CSRStorage(fields=place(),
            description="Writing this register writes the buffer to the module, if no transfer is "
                "running.")
        self._status = CSRStatus(fields=[
            CSRField("busy", size=1, offset=0, description="A transfer is running."),
            CSRField("present", size=1, offset=1, description="A module is in the cage."),
            CSRField("interrupt", size=1, offset=2, description="The module pulls IntL."),
            CSRField("quiet", size=1, offset=3, description="The card holds the module in reset "
                "and low power on its own, for its temperature."),
            CSRField("error", size=3, offset=4, description="How the last transfer ended: "
                + ", ".join(f"{value} {name}" for name, value in ERRORS.items()) + "."),
            CSRField("moved", size=8, offset=8, description="Bytes that the last transfer moved."),
            CSRField("recoveries", size=8, offset=16,
                description="How often clocks have freed a bus whose SDA was held, modulo 256."),
        ])
        self._buffer_place  = CSRStorage(7, description="Number of a byte in the buffer.")
        self._buffer_read   = CSRStatus(8,
            description="The buffer's byte number ``buffer_place``. A read increments "
                "``buffer_place``.")
        self._buffer_write  = CSRStorage(8,
            description="A write sets the buffer's byte number ``buffer_place``, and increments "
                "``buffer_place``.")

    def add_buffer(self):
        """Adds the memory of a transfer's bytes, with a port for registers and one for the bus."""
        memory       = Memory(BYTE_BITS, BUFFER_BYTES)
        host         = memory.get_port(write_capable=True)
        self.storage = memory.get_port(write_capable=True)
        self.specials += memory, host, self.storage

        # # #

        index = Signal(7)
        self.comb += [
            host.adr.eq(index),
            host.dat_w.eq(self._buffer_write.storage),
            host.we.eq(self._buffer_write.re),
            self._buffer_read.status.eq(host.dat_r),
        ]
        self.sync += [
            If(self._buffer_place.re, index.eq(self._buffer_place.storage)),
            If(self._buffer_read.we | self._buffer_write.re, index.eq(index + 1)),
        ]

    def add_transfer(self, select_cycles, hold_cycles):
        """Adds the state machine that carries a transfer out."""
        bus, byte  = self.bus, self.byte
        status     = self._status.fields
        job        = Record([("offset", 8), ("length", 8), ("page", 8), ("keep", 1), ("write", 1)])
        paging     = Signal() # The module's upper page is being selected by a write of a byte.
        selected   = Signal()
        count      = Signal(BYTE_BITS) # Bytes that were moved.
        clocks     = Signal(max=RECOVERY_CLOCKS)
        alone      = Signal() # The state machine itself sends the symbol `kind`, with bit 1.
        kind       = Signal(2)
        error      = Signal(3)
        sent       = Signal()
        recoveries = Signal(8)
        self.select_timer = select_timer = WaitTimer(select_cycles)
        self.hold_timer   = hold_timer   = WaitTimer(hold_cycles)
        self.fsm          = fsm          = FSM(reset_state="IDLE")

        def fail(name, state="STOP"):
            return [NextValue(error, ERRORS[name]), NextState(state)]

        def send(state, data, following, refusal, *extra):
            """Sends `data` in `state`, then goes to `following`, or ends with error `refusal`."""
            fsm.act(state,
                byte.data.eq(data), byte.go.eq(~sent), NextValue(sent, 1),
                If(byte.done,
                    NextValue(sent, 0),
                    If(bus.stuck, *fail("scl_held")
                    ).Elif(byte.refused, *fail(refusal)
                    ).Else(*extra, NextState(following)),
                ),
            )

        def symbol(state, which, *following):
            fsm.act(state, NextValue(sent, 1),
                kind.eq(which), alone.eq(~sent),
                If(bus.done, NextValue(sent, 0), *following))

        def take(register, **others):
            """Returns the FSM's statements that start the job which `register` asks for. `others`
            are the fields of `job` that `register` does not have."""
            fields = register.fields
            values = {name: others.get(name, getattr(fields, name, None))
                for name, *_ in job.layout}
            wrong  = (fields.length == 0) | (fields.length > BUFFER_BYTES)
            return [
                *[NextValue(getattr(job, name), value) for name, value in values.items()],
                NextValue(count, 0), NextValue(error, 0),
                If(wrong, *fail("length", "RELEASE")
                ).Elif(self.absent, *fail("absent", "RELEASE")
                ).Else(NextState("SELECT")),
            ]

        fsm.act("IDLE",
            If(self._read.re, *take(self._read, write=0)
            ).Elif(self._write.re, *take(self._write, write=1, page=0)),
        )
        # The timer runs as long as the module is selected. So a module that is still selected from
        # the last transfer is spoken to at once.
        fsm.act("SELECT",
            NextValue(selected, 1),
            If(select_timer.done, NextValue(clocks, 0), NextState("CHECK")),
        )
        # A module may have been stopped in the middle of a byte, by a reset of the card. It then
        # holds SDA low until it has been given its clocks.
        fsm.act("CHECK",
            NextValue(paging, ~job.write & job.offset[-1]),
            If(~bus.scl, *fail("scl_held")
            ).Elif(bus.sda, NextState("START")
            ).Else(NextState("CLOCK")),
        )
        symbol("CLOCK", BIT, NextValue(clocks, clocks + 1),
            If(bus.stuck, *fail("scl_held")
            ).Elif(bus.sampled, NextState("FREED")
            ).Elif(clocks == RECOVERY_CLOCKS - 1, *fail("sda_held")))
        symbol("FREED", STOP, NextValue(recoveries, recoveries + 1), NextState("START"))
        symbol("START", START, If(bus.stuck, *fail("scl_held")).Else(NextState("ADDRESS")))
        send("ADDRESS", ADDRESS << 1, "OFFSET", "silent")
        fsm.act("NEXT",
            If(count == job.length, NextState("STOP")
            ).Elif(job.write, NextState("WRITE")).Else(NextState("READ")))
        send("OFFSET", Mux(paging, PAGE_SELECT, job.offset), "TURN", "refused")
        fsm.act("TURN",
            If(paging, NextState("PAGE")
            ).Elif(job.write, NextState("NEXT")).Else(NextState("AGAIN")))
        send("PAGE", job.page, "PAGED", "refused")
        symbol("PAGED", STOP, NextValue(paging, 0), NextState("START"))
        symbol("AGAIN", START, If(bus.stuck, *fail("scl_held")).Else(NextState("ADDRESS-READ")))
        send("ADDRESS-READ", ADDRESS << 1 | 1, "NEXT", "silent")
        send("WRITE", self.storage.dat_r, "NEXT", "refused", NextValue(count, count + 1))
        fsm.act("READ",
            byte.read.eq(1), byte.last.eq(count == job.length - 1), byte.go.eq(~sent),
            NextValue(sent, 1),
            If(byte.done, NextValue(sent, 0), NextState("STORE")),
        )
        fsm.act("STORE",
            self.storage.dat_w.eq(byte.result),
            If(bus.stuck, *fail("scl_held")).Else(
                self.storage.we.eq(1), NextValue(count, count + 1), NextState("NEXT")),
        )
        symbol("STOP", STOP, NextState("HOLD"))
        fsm.act("HOLD",
            hold_timer.wait.eq(1),
            If(hold_timer.done, NextState("RELEASE")),
        )
        fsm.act("RELEASE",
            NextValue(selected, job.keep & selected),
            NextState("IDLE"),
        )
        self.comb += [
            bus.go.eq(byte.bit_go | alone),
            bus.symbol.eq(Mux(alone, kind, BIT)),
            bus.bit.eq(byte.bit | alone),
            select_timer.wait.eq(selected),
            self.busy.eq(~fsm.ongoing("IDLE")),
            self.pins.modsel_n.eq(~selected),
            self.storage.adr.eq(count),
            status.error.eq(error), status.moved.eq(count), status.recoveries.eq(recoveries),
        ]
