# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A stand-in for the flash engine of a card, with its registers and a flash that is never busy.

The stand-in refuses those commands that a test chooses. So tests can try every refusal on
litepcie_util, also of commands that the real engine would carry out.
"""

import zlib
from dataclasses import dataclass, field

from gateware import numbers
from gateware.card.commands import ERASE_SECTOR, PROGRAM, READ, READ_PAIRS
from gateware.observe import capability

BASE = numbers.CSR_LOCATIONS["flash"] * capability.CSR_PAGE
LAYOUT = {name: numbers.FLASH_LAYOUT[name] for name in ("application", "room")}
REGISTERS = [name for name in capability.BLOCK_TYPES["flash"].parameters if name not in LAYOUT]
REGISTERS.remove("idcode")
PLACES = {name: 4 * number for number, name in enumerate(REGISTERS)}
PAGE, SECTOR = 256, 1 << 16


@dataclass
class FlashStandin:
    """A flash engine, with a flash whose identification bytes are `identification`.

    `refuse` is a dict from the opcodes of the commands that are refused to the reasons, which the
    status register shows (Refusal). A refusal of an opcode in `hidden` shows only in the count of
    refusals: the status register shows no refusal, and the command is carried out.
    """

    refuse: dict = field(default_factory=dict)
    hidden: tuple = ()
    one_line: bool = False  # True: a read on two data lines (READ_PAIRS) has a wrong CRC
    identification: int = 0x20BB19

    def __post_init__(self):
        self.value = dict.fromkeys(REGISTERS, 0)
        self.value["identification"] = self.identification
        self.page, self.index = bytearray(PAGE), 0
        # contents of the pages that were programmed and not erased since, by their addresses
        self.contents = {}

    def block(self):
        """Return the engine's entry of the capability table."""
        parameters = {**PLACES, **LAYOUT, "idcode": numbers.IDCODES["xcku5p"]}
        ordered = {name: parameters[name] for name in capability.BLOCK_TYPES["flash"].parameters}
        return capability.Block("flash", BASE, capability.CSR_PAGE, ordered)

    def register(self, offset):
        """Return the name of the register at `offset` in BAR0, or None."""
        return next((name for name, at in PLACES.items() if BASE + at == offset), None)

    def read(self, name):
        if name != "page_data":
            return self.value[name]
        word = int.from_bytes(self.page[4 * self.index : 4 * self.index + 4], "little")
        self.index = (self.index + 1) % (PAGE // 4)
        return word

    def write(self, name, value):
        self.value[name] = value
        if name == "page_data":
            self.page[4 * self.index : 4 * self.index + 4] = value.to_bytes(4, "little")
            self.index = (self.index + 1) % (PAGE // 4)
        if name == "command":
            self.command(value & 0xFF, self.value["address"], self.value["length"])

    def command(self, opcode, address, length):
        reason = self.refuse.get(opcode, 0)
        self.value["refusals"] += bool(reason)
        reason = 0 if opcode in self.hidden else reason
        self.value["status"] = reason << 4
        self.index = 0
        if reason:
            return
        if opcode == ERASE_SECTOR:
            for at in range(address, address + SECTOR, PAGE):
                self.contents.pop(at, None)
        if opcode == PROGRAM:
            # Programming cannot change a bit of the flash from 0 to 1. Only an erasure does that.
            old = self.contents.get(address, b"\xff" * PAGE)
            self.contents[address] = bytes(a & b for a, b in zip(old, self.page))
        if opcode in (READ, READ_PAIRS):
            pages = range(address - address % PAGE, address + length, PAGE)
            whole = b"".join(self.contents.get(at, b"\xff" * PAGE) for at in pages)
            found = whole[address % PAGE :][:length]
            self.page[: min(PAGE, length)] = found[:PAGE]
            self.value["crc"] = zlib.crc32(found)
            self.value["crc"] ^= self.one_line and opcode == READ_PAIRS
