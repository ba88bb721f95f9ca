# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Connect the flash model of the simulated board (sim/board/card) to the pins of a JTAG design.

By default the flash is an MX25U51245G (64 MiB). Its time goes on with each change of a pin.
"""

from tools.testing.flash_model import new_chip

SECTOR = 1 << 16
# Nanoseconds between two changes of a pin. With this divisor an erase takes 150 changes, so its end
# is seen by the second or third read of the status.
STEP, DIVISOR = 20, 50_000


class Flash:
    def __init__(self, identification=0xC2253A, size=1 << 26, protected=False):
        self.chip = new_chip(identification, size, DIVISOR)
        # Fault to inject: the flash takes every command, but erases and programs change nothing.
        self.chip.protect(protected)
        self.load = self.chip.load
        self.contents = self.chip.contents
        self.now = 0

    @property
    def enabled(self):
        return self.chip.write_enabled

    @property
    def selected(self):
        return self.chip.selected

    @property
    def broken(self):
        return self.chip.broken

    @property
    def erased(self):
        """Return the numbers of the sectors that were erased, for the assertions of tests."""
        return [address // SECTOR for address in self.chip.erased]

    def pins(self, cs_n, sck, mosi):
        self.now += STEP
        return self.chip.pins(cs_n, sck, mosi, self.now)
