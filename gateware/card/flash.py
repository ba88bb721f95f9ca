# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The registers of the flash engine, and the lock of the golden image."""

from litex.gen import *
from litex.soc.interconnect.csr import *
from migen import *

from gateware import numbers
from gateware.card.commands import STATUS_BUSY
from gateware.card.engine import FlashEngine
from gateware.card.gate import ADDRESS_BITS, LENGTH_BITS
from gateware.card.spi import HALF_BITS, LATE_BITS, LEAST_HALF
from gateware.card.startup import FlashPins


class Flash(LiteXModule):
    """The flash engine with its registers, at the configuration pins.

    To program a page, software writes 64 words to `page_data`, then `address` and `command`, and
    reads `status` until no command runs. `length` keeps its value from page to page. Software may
    write the next page's words while a page is being programmed.

    The lock is closed by every reset of the card's logic, so by a power cycle, a reboot, and a
    reset of PCIe."""
    def __init__(self):
        self.engine = engine = FlashEngine()
        self.pins   = pins   = FlashPins()
        self.busy   = Signal() # o, a command is running, so device time must run.

        self.add_command()
        self.add_page()
        self.add_results()

        # # #

        spi = engine.transfer.bytes
        self.comb += [
            self.busy.eq(engine.busy),
            pins.cs_n.eq(engine.transfer.cs_n),
            pins.sck.eq(spi.sck),
            pins.mosi.eq(spi.mosi),
            pins.release.eq(engine.transfer.release),
            spi.lines.eq(pins.lines),
        ]

    def add_command(self):
        """Adds the registers of the flash's commands, and of the golden image's lock."""
        engine = self.engine
        self._address = CSRStorage(ADDRESS_BITS, description="Address in the flash.")
        self._length  = CSRStorage(LENGTH_BITS, reset=numbers.FLASH_PAGE_BYTES,
            description="Bytes to read, or 1 to 256 bytes to program.")
        self._command = CSRStorage(fields=[
            CSRField("opcode", size=8, offset=0,
                description="Writing the register starts the flash command with this opcode."),
            CSRField("stop", size=1, offset=8, pulse=True,
                description="Start no command, but end the waiting or reading of the running one."),
        ])
        self._unlock = CSRStorage(32, description="``FLASH_LAYOUT['unlock']`` opens the whole "
            "flash to erase and program until the next reset. Any other value locks it again.")
        self._clock = CSRStorage(fields=[
            CSRField("half", size=HALF_BITS, offset=0, reset=LEAST_HALF,
                description="Half a period of SCK in cycles: 2 or more."),
            CSRField("late", size=LATE_BITS, offset=8, reset=3,
                description="A bit is taken this many cycles, and one more, after SCK has risen."),
        ])
        command, stop = self._command, self._command.fields.stop
        self.comb += [
            engine.address.eq(self._address.storage),
            engine.length.eq(self._length.storage),
            engine.opcode.eq(command.fields.opcode),
            engine.start.eq(command.re & ~stop),
            engine.stop.eq(command.re & stop),
            engine.unlocked.eq(self._unlock.storage == numbers.FLASH_LAYOUT["unlock"]),
            engine.transfer.bytes.half.eq(self._clock.fields.half),
            engine.transfer.bytes.late.eq(self._clock.fields.late),
        ]

    def add_page(self):
        """Adds the access to the page buffer, which goes on by itself from word to word."""
        engine = self.engine
        # `page_index` goes on with every access to `page_data`, and a command sets it to 0.
        self._page_index = CSR(len(engine.index))
        self._page_data  = CSR(32)
        index = Signal(len(engine.index))
        self.sync += [
            If(self._page_data.re | self._page_data.we, index.eq(index + 1)),
            If(self._page_index.re, index.eq(self._page_index.r)),
            If(engine.start, index.eq(0)),
        ]
        self.comb += [
            self._page_index.w.eq(index),
            self._page_data.w.eq(engine.word),
            engine.index.eq(index),
            engine.word_in.eq(self._page_data.r),
            engine.word_write.eq(self._page_data.re),
        ]

    def add_results(self):
        """Adds the registers with the results of a flash command."""
        engine = self.engine
        self._status = CSRStatus(fields=[
            CSRField("busy", size=1, offset=STATUS_BUSY, description="A command is running."),
            CSRField("unlocked", size=1, offset=1, description="The golden image may be changed."),
            CSRField("refusal", size=3, offset=4,
                description="Why the last command was refused (Refusal in commands.py); 0: sent."),
            CSRField("ready_status", size=8, offset=8,
                description="The flash's status when it was last asked whether it is ready."),
        ])
        self._crc = CSRStatus(32, description="CRC-32 of what the last command read.")
        self._refusals = CSRStatus(32, description="Commands that were refused since reset.")
        self._identification = CSRStatus(24, description="The flash's JEDEC identification.")
        status = self._status.fields
        self.comb += [
            status.busy.eq(engine.busy),
            status.unlocked.eq(engine.unlocked),
            status.refusal.eq(engine.refusal),
            status.ready_status.eq(engine.ready_status),
            self._crc.status.eq(engine.crc.crc),
            self._refusals.status.eq(engine.refusals),
            self._identification.status.eq(engine.identification),
        ]
