# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A block with its registers on a CSR bus, which simulations read and write by name."""

from litex.gen import LiteXModule
from litex.soc.interconnect import csr_bus

BUS_WIDTH = 32


class CsrBench(LiteXModule):
    """A block `dut` with its register bank on a CSR bus.

    The bank has as many words for each register as the real bus has.
    """

    def __init__(self, dut):
        self.dut = dut
        self.csr = csr_bus.Interface(data_width=BUS_WIDTH)
        registers = dut.get_csrs(sort=True)
        self.addresses, address = {}, 0
        for register in registers:
            words = (register.size + BUS_WIDTH - 1) // BUS_WIDTH
            self.addresses[register.name] = range(address, address + words)
            address += words
        self.bank = csr_bus.CSRBank(registers, bus=self.csr)

    def read_word(self, address):
        """Read a word of the bus with a strobe of one cycle, as LiteX's bridge does.

        Return the word.
        """
        yield self.csr.adr.eq(address)
        yield self.csr.re.eq(1)
        yield
        yield self.csr.adr.eq(0)
        yield self.csr.re.eq(0)
        yield
        return (yield self.csr.dat_r)

    def read(self, name):
        """Read a register of the block, which may have several words. Return its value."""
        value = 0
        for address in self.addresses[name]:
            value = value << BUS_WIDTH | (yield from self.read_word(address))
        return value

    def write(self, name, value):
        """Write `value` to a register of the block that has one word."""
        (address,) = self.addresses[name]
        yield self.csr.adr.eq(address)
        yield self.csr.dat_w.eq(value)
        yield self.csr.we.eq(1)
        yield
        yield self.csr.we.eq(0)
        yield
