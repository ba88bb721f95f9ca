# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The gate before the flash: it decides in hardware whether a flash command may be sent."""

from litex.gen import *
from migen import *

from gateware import numbers
from gateware.card.commands import COMMANDS, LARGE, Change, Data, Refusal

ADDRESS_BITS = 32
LENGTH_BITS  = 26

class FlashGate(LiteXModule):
    """Looks up a command, and says why it must not be sent.

    While locked, a command may only change the application's half of the flash, from FLASH_LAYOUT's
    `application` on for `room` bytes. A flash has fewer address bits than a command, so an address
    beyond the flash's end wraps around to the golden image. The gate therefore asks for an upper
    bound, and for a flash that says that it is large enough."""
    def __init__(self):
        self.opcode         = Signal(8)                 # i
        self.address        = Signal(ADDRESS_BITS)      # i
        self.length         = Signal(LENGTH_BITS)       # i, bytes of data of the command
        self.unlocked       = Signal()                  # i
        self.identification = Signal(24)                # i, the flash's JEDEC ID

        self.address_bytes  = Signal(3)                 # o
        self.dummies        = Signal()                  # o
        self.reads          = Signal()                  # o, the command reads data from the flash
        self.pairs          = Signal()                  # o, the read data comes on two lines
        self.writes         = Signal()                  # o, the command writes data to the flash
        self.changes        = Signal()                  # o, the flash is busy after the command
        self.refusal        = Signal(max=len(Refusal))  # o

        # # #

        first, room = numbers.FLASH_LAYOUT["application"], numbers.FLASH_LAYOUT["room"]
        if room & (room - 1) or first % room:
            raise ValueError(f"FLASH_LAYOUT: the application at {first:#x} must be a multiple of "
                f"its room {room:#x}, a power of two: the gate compares upper bits alone")
        known, everything = Signal(), Signal()
        self.comb += Case(self.opcode, {
            command.opcode: [
                known.eq(1),
                self.address_bytes.eq(command.address),
                self.dummies.eq(command.dummies),
                self.reads.eq(command.data == Data.READ),
                self.pairs.eq(command.lines == 2),
                self.writes.eq(command.data == Data.WRITE),
                self.changes.eq(command.change != Change.NONE),
                everything.eq(command.change == Change.ALL),
            ] for command in COMMANDS
        })
        low    = log2_int(room)
        inside = self.address[low:] == first >> low
        large  = Signal()
        self.comb += Case(self.identification[:8], {last: large.eq(1) for last in LARGE})
        self.comb += If(~known,
            self.refusal.eq(Refusal.UNKNOWN),
        ).Elif(self.writes & ((self.length == 0) | (self.length > numbers.FLASH_PAGE_BYTES)),
            self.refusal.eq(Refusal.LENGTH),
        ).Elif(self.changes & ~self.unlocked,
            If(everything,
                self.refusal.eq(Refusal.ALL),
            ).Elif(self.address_bytes != 4,
                self.refusal.eq(Refusal.SHORT),
            ).Elif(~inside,
                self.refusal.eq(Refusal.OUTSIDE),
            ).Elif(~large,
                self.refusal.eq(Refusal.SIZE),
            )
        )
