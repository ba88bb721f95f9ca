# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A slave on an I2C bus for Migen simulations, with the memory of a module, and with faults."""

from dataclasses import dataclass, field

from migen import passive


@dataclass
class Slave:
    """A module's memory of 256 bytes behind I2C address `address`.

    `stretch` is the number of cycles for which the slave holds SCL low after each byte, and `stuck`
    the number of clocks for which it holds SDA low from the beginning on. `refuse` is the number of
    the byte, counted from the start, that it does not acknowledge.
    """

    address: int = 0x50
    memory: bytearray = field(default_factory=lambda: bytearray(range(256)))
    stretch: int = 0
    stuck: int = 0
    refuse: int = -1
    hold_clock: bool = False
    starts: int = 0
    stops: int = 0
    clocks: int = 0
    written: list = field(default_factory=list)  # the bytes of each write, its offset first
    place: int = 0

    def __post_init__(self):
        self.scl = self.sda = 1
        self.sda_low = self.selected = self.reading = False
        self.bits, self.shift, self.number, self.held = 0, 0, 0, 0

    def byte(self):
        """Take the byte in `shift` as the I2C slave. Return whether the slave acknowledges it."""
        self.number += 1
        if self.number == 1:
            self.selected = self.shift >> 1 == self.address and self.refuse != 0
            self.reading = bool(self.shift & 1)
            return self.selected
        if self.number - 1 == self.refuse:
            return False
        if self.number == 2:
            self.written.append([self.shift])
            self.place = self.shift
        else:
            self.written[-1].append(self.shift)
            self.memory[self.place] = self.shift
            self.place = (self.place + 1) % 256
        return True

    def fall(self):
        """Handle a falling edge of SCL: drive SDA for the next clock."""
        self.stuck = max(self.stuck - 1, 0)
        if not self.selected and self.number:
            self.sda_low = False
            return
        if self.bits == 8:
            self.sda_low = not self.reading_on and self.byte()
            return
        if self.bits == 9:
            self.bits, self.held = 0, self.stretch
            if self.reading_on and self.shift & 1:  # the master did not acknowledge
                self.selected, self.sda_low = False, False
                return
            self.reading_on = self.reading
            if self.reading_on:
                self.out = self.memory[self.place]
                self.place = (self.place + 1) % 256
        self.sda_low = self.reading_on and not self.out >> (7 - self.bits) & 1

    def see(self, scl, sda):
        """Follow SCL and SDA of one clock cycle."""
        if self.scl and scl and self.sda != sda:
            self.starts += not sda
            self.stops += sda
            self.bits = self.number = 0
            self.selected = self.reading = self.reading_on = self.sda_low = False
            self.running = not sda
        elif not self.scl and scl:
            self.clocks += 1
            if getattr(self, "running", False):
                self.shift = (self.shift << 1 | sda) & 0xFF if self.bits < 8 else sda
                self.bits += 1
        elif self.scl and not scl:
            if getattr(self, "running", False) and self.bits:
                self.fall()
            else:
                self.stuck = max(self.stuck - 1, 0)
        self.scl, self.sda = scl, sda

    @passive
    def run(self, pins):
        """Act as the I2C slave on the lines of `pins`, which has cage_pins()."""
        while True:
            self.held = max(self.held - 1, 0)
            scl = int(not (yield pins.scl_low) and not self.held and not self.hold_clock)
            sda = int(not (yield pins.sda_low) and not self.sda_low and not self.stuck)
            self.see(scl, sda)
            sda = int(not (yield pins.sda_low) and not self.sda_low and not self.stuck)
            yield pins.scl.eq(int(scl and not self.held))
            yield pins.sda.eq(sda)
            yield
