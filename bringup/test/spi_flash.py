# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Model of a serial flash (MX25U51245G, 64 MiB) by its pins, in SPI mode 0.

The model has only the commands that OpenOCD uses: identification, status, reads, page program and
sector erase, with addresses of three or four bytes. `broken` lists accesses that a real flash would
not take by its data sheet.
"""

PAGE, SECTOR = 256, 1 << 16
ADDRESS = {0x03: 3, 0x13: 4, 0x02: 3, 0x12: 4, 0xD8: 3, 0xDC: 4}
READ, PROGRAM, ERASE = (0x03, 0x13), (0x02, 0x12), (0xD8, 0xDC)
# After an erase or program command, the flash model is ready again after this many reads of its
# status.
BUSY_POLLS = 2


class Flash:
    def __init__(self, identification=0xC2253A, size=1 << 26, protected=False):
        self.identification = identification
        # Fault to inject: the flash takes every command, but erases and programs change nothing.
        self.protected = protected
        self.size = size
        self.sectors = {}  # {number of a 64 KiB sector: its contents}; an absent sector is erased.
        self.erased = []
        self.broken = []
        self.enabled = False
        self.busy = 0
        self.selected = False
        self.clock = 0
        self.miso = 1

    def sector(self, address):
        return self.sectors.setdefault(address // SECTOR, bytearray(b"\xff" * SECTOR))

    def load(self, address, data):
        for n, value in enumerate(data):
            self.sector(address + n)[(address + n) % SECTOR] = value

    def contents(self, address, length):
        return bytes(self.sector(at)[at % SECTOR] for at in range(address, address + length))

    def pins(self, cs_n, sck, mosi):
        if cs_n:
            if self.selected:
                self.end()
            self.selected = False
        elif not self.selected:
            self.selected, self.bits, self.bytes, self.out = True, 0, bytearray(), 0
            self.incoming = 0
            if sck:
                self.broken.append("selected while SCK is high: mode 0 has it low")
        elif sck and not self.clock:
            self.rise(1 if mosi else 0)
        elif self.clock and not sck:
            self.fall()
        self.clock = sck
        return self.miso

    def rise(self, bit):
        self.bits += 1
        self.incoming = self.incoming << 1 & 0xFF | bit
        if self.bits % 8 == 0:
            self.bytes.append(self.incoming)

    def fall(self):
        """Output the next bit of the answer at a falling edge of SCK, highest bit first; 1 if no
        answer.
        """
        if self.bits % 8 == 0:
            self.out = self.answer(len(self.bytes))
        self.miso = self.out >> 7 - self.bits % 8 & 1

    def answer(self, count):
        """Return the byte that the flash model sends after it has received `count` bytes of a
        command.
        """
        command = self.bytes[0] if self.bytes else None
        if command == 0x05:
            self.busy = max(0, self.busy - 1)
            return bool(self.busy) | self.enabled << 1
        if self.busy:
            return 0xFF
        if command == 0x9F:
            return self.identification >> 8 * (3 - count) & 0xFF if count < 4 else 0
        if command in READ and count > ADDRESS[command]:
            address = self.address() + count - 1 - ADDRESS[command]
            return self.sector(address % self.size)[address % SECTOR]
        return 0xFF

    def address(self):
        command = self.bytes[0]
        return int.from_bytes(self.bytes[1 : 1 + ADDRESS[command]], "big")

    def end(self):
        """Execute the received command when CS# rises, if it has a whole number of bytes."""
        if self.bits % 8 or not self.bytes:
            return  # By the data sheet, a flash ignores a command that ends inside a byte.
        command = self.bytes[0]
        if self.busy and command != 0x05:
            self.broken.append(f"command {command:#04x} while busy")
        elif command == 0x06:
            self.enabled = True
        elif command == 0x04:
            self.enabled = False
        elif command in PROGRAM + ERASE:
            if not self.enabled:
                self.broken.append(f"command {command:#04x} without write enable")
            self.change(command)

    def change(self, command):
        self.enabled, self.busy = False, BUSY_POLLS
        address, data = self.address(), self.bytes[1 + ADDRESS[command] :]
        if self.protected:
            return
        if address >= self.size:
            self.broken.append(f"address {address:#x} is outside")
        if command in ERASE:
            self.erased.append(address // SECTOR)
            self.sectors[address // SECTOR] = bytearray(b"\xff" * SECTOR)
            return
        if address % PAGE + len(data) > PAGE:
            self.broken.append(f"a page program at {address:#x} wraps around its page")
        for n, value in enumerate(data):
            self.sector(address + n)[(address + n) % SECTOR] &= value
