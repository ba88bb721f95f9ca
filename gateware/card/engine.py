# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The flash engine: carries out a command of the flash with all that belongs to it.

    command -> gate -+-> refused: counted
                     +-> reads:   transfer
                     +-> changes: wait until ready, write enable, transfer, wait until ready
"""

from litex.gen import *
from migen import *

from gateware.card.commands import IDENTIFY, READ_STATUS, WRITE_ENABLE, Refusal
from gateware.card.gate import ADDRESS_BITS, LENGTH_BITS, FlashGate
from gateware.card.spi import SpiTransfer
from gateware.numbers import FLASH_PAGE_BYTES
from gateware.vocabulary.crc import Crc32

# The silent first transfer, with which the flash's pins are taken over, sends this byte.
NO_COMMAND = 0xff
WORD_BITS, WORD_BYTES = 32, 4

class PageBuffer(LiteXModule):
    """Data of one page of the flash. Software reads and writes it by words, the flash engine by
    bytes. `by_bytes` says that the engine has it; then software has no access."""
    def __init__(self):
        self.by_bytes   = Signal()
        self.index      = Signal(max=FLASH_PAGE_BYTES//WORD_BYTES) # i, number of software's word
        self.word_write = Signal()
        self.word_in    = Signal(WORD_BITS)
        self.word       = Signal(WORD_BITS)       # o
        self.place      = Signal(max=FLASH_PAGE_BYTES)  # i, number of the engine's byte
        self.byte_write = Signal()
        self.byte_in    = Signal(8)
        self.byte       = Signal(8)               # o

        # # #

        memory = Memory(WORD_BITS, FLASH_PAGE_BYTES//WORD_BYTES)
        port   = memory.get_port(write_capable=True, async_read=True, we_granularity=8)
        self.specials += memory, port
        lane, shift = self.place[:2], Cat(C(0, 3), self.place[:2])
        self.comb += [
            self.word.eq(port.dat_r),
            self.byte.eq(port.dat_r >> shift),
            If(self.by_bytes,
                port.adr.eq(self.place[2:]),
                port.dat_w.eq(Replicate(self.byte_in, WORD_BYTES)),
                port.we.eq(self.byte_write << lane),
            ).Else(
                port.adr.eq(self.index),
                port.dat_w.eq(self.word_in),
                port.we.eq(Replicate(self.word_write, WORD_BYTES)),
            ),
        ]

class FlashEngine(LiteXModule):
    """Carries out one command of the flash at a time.

    The engine has two page buffers. A program command takes the one that software has filled and
    leaves it the other, two cycles after `start`. So software fills the next page meanwhile: an
    access over the bus takes longer. Other commands leave the buffers as they are.

    After reset it takes over the pins, waits until the flash is ready, and reads the flash's
    identification: an erase may still be running if the reset came over PCIe."""
    def __init__(self):
        self.opcode   = Signal(8)            # i, opcode of the flash command
        self.address  = Signal(ADDRESS_BITS) # i, address in the flash
        self.length   = Signal(LENGTH_BITS)  # i, bytes to read or to program
        self.start    = Signal()             # i, one cycle: begin a command.
        self.stop     = Signal() # i, end the command early; a change that still waits is not sent.
        self.unlocked = Signal()             # i, the golden image may be changed.

        self.busy           = Signal(reset=1)          # o, a command is running.
        self.refusal        = Signal(max=len(Refusal)) # o, why the last command was not sent
        self.refusals       = Signal(32)               # o, number of refused commands since reset
        self.identification = Signal(24)               # o, the flash's JEDEC ID
        self.ready_status   = Signal(8) # o, the flash's status register, as it was read last

        self.index      = Signal(max=FLASH_PAGE_BYTES//WORD_BYTES) # i, number of software's word
        self.word_write = Signal()                           # i
        self.word_in    = Signal(WORD_BITS)                  # i
        self.word       = Signal(WORD_BITS)                  # o

        self.pages    = PageBuffer(), PageBuffer()
        self.add_module("page0", self.pages[0])
        self.add_module("page1", self.pages[1])
        self.gate     = FlashGate()
        self.transfer = SpiTransfer()
        self.crc      = Crc32() # The CRC of the bytes that the last command read.

        # # #

        gate, transfer = self.gate, self.transfer
        stopped = Signal()
        refused = Signal(max=len(Refusal))
        self.sync += [
            If(self.start & ~self.busy,
                gate.opcode.eq(self.opcode),
                gate.address.eq(self.address),
                gate.length.eq(self.length),
                stopped.eq(0),
            ),
            If(self.stop, stopped.eq(1)),
            If(refused != Refusal.NONE, self.refusals.eq(self.refusals + 1)),
            If(transfer.read_valid & transfer.polls, self.ready_status.eq(transfer.read_data)),
        ]
        self.comb += [
            gate.unlocked.eq(self.unlocked),
            gate.identification.eq(self.identification),
            transfer.stop.eq(stopped),
            transfer.address.eq(gate.address),
            self.crc.data.eq(transfer.read_data),
        ]
        self.front = Signal() # Number of the page buffer that software has.
        # The gate's answer about the command, a cycle later. The gate's look-up has many LUT
        # levels, and so has the path to the flash's pins: the register keeps both paths short.
        self.form = form = Record([("address_bytes", len(gate.address_bytes)), ("dummies", 1),
            ("reads", 1), ("pairs", 1), ("writes", 1), ("changes", 1)])
        self.sync += [getattr(form, name).eq(getattr(gate, name)) for name, *_ in form.layout]
        self.byte_write = Signal()
        self.add_pages()
        self.add_steps(refused, stopped)

    def add_pages(self):
        """Connects one page buffer to software and one to the transfer. During any command but a
        program, software and the transfer share one page buffer, and the transfer uses it."""
        transfer, writes = self.transfer, self.form.writes
        for number, page in enumerate(self.pages):
            mine = Signal() # The page buffer is software's.
            self.comb += [
                mine.eq(self.front == number),
                page.by_bytes.eq(self.busy & (mine != writes)),
                page.index.eq(self.index),
                page.word_in.eq(self.word_in),
                page.word_write.eq(self.word_write & mine),
                page.place.eq(transfer.position[:8]),
                page.byte_in.eq(transfer.read_data),
                page.byte_write.eq(self.byte_write),
            ]
        first, second = self.pages
        self.comb += [
            self.word.eq(Mux(self.front, second.word, first.word)),
            transfer.write_data.eq(Mux(self.front, first.byte, second.byte)),
        ]

    def add_steps(self, refused, stopped):
        """Adds the steps of a command. A step that makes a transfer describes it as long as it
        runs, and starts it in its first cycle."""
        gate, form, transfer = self.gate, self.form, self.transfer
        self.fsm = fsm = FSM(reset_state="TAKE-PINS")
        entered  = Signal()
        self.sync += entered.eq(transfer.start | (entered & ~transfer.done))

        def step(name, then, *describe):
            fsm.act(name, *describe, transfer.start.eq(~entered),
                If(transfer.done & entered, *then))

        wait = [transfer.opcode.eq(READ_STATUS), transfer.polls.eq(1)]
        step("TAKE-PINS", [NextState("WAIT-AFTER-RESET")],
            transfer.silent.eq(1), transfer.opcode.eq(NO_COMMAND))
        step("WAIT-AFTER-RESET", [NextState("IDENTIFY")], *wait)
        step("IDENTIFY", [NextValue(self.busy, 0), NextState("IDLE")],
            transfer.opcode.eq(IDENTIFY), transfer.reads.eq(1), transfer.length.eq(3),
            If(transfer.read_valid, NextValue(self.identification,
                Cat(transfer.read_data, self.identification))))
        fsm.act("IDLE",
            If(self.start,
                self.crc.clear.eq(1),
                NextValue(self.busy, 1),
                NextState("ASK-GATE"),
            )
        )
        fsm.act("ASK-GATE",
            refused.eq(gate.refusal),
            NextValue(self.refusal, gate.refusal),
            If(gate.refusal != Refusal.NONE,
                NextValue(self.busy, 0),
                NextState("IDLE"),
            ).Elif(gate.changes,
                If(gate.writes, NextValue(self.front, ~self.front)),
                NextState("WAIT-BEFORE"),
            ).Else(
                NextState("SEND"),
            )
        )
        step("WAIT-BEFORE", [If(stopped, NextValue(self.busy, 0), NextState("IDLE")).Else(
            NextState("ENABLE"))], *wait)
        step("ENABLE", [NextState("SEND")], transfer.opcode.eq(WRITE_ENABLE))
        step("SEND", [If(form.changes, NextState("WAIT-BEHIND")).Else(
            NextValue(self.busy, 0), NextState("IDLE"))],
            transfer.opcode.eq(gate.opcode),
            *[getattr(transfer, name).eq(getattr(form, name))
                for name in ("address_bytes", "dummies", "reads", "pairs", "writes")],
            transfer.length.eq(gate.length),
            self.crc.valid.eq(transfer.read_valid),
            self.byte_write.eq(transfer.read_valid & (transfer.position < FLASH_PAGE_BYTES)))
        step("WAIT-BEHIND", [NextValue(self.busy, 0), NextState("IDLE")], *wait)
        self.sync += If(self.start & self.busy,
            self.refusal.eq(Refusal.BUSY),
            self.refusals.eq(self.refusals + 1),
        )
