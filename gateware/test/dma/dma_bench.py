# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""An engine of the DMA with its registers, driven as software drives it."""

import random

from csr_model import CsrBench
from migen import passive

IRQ_DISABLE, LAST_DISABLE = 1 << 24, 1 << 25


def memory_byte(address):
    """The byte of host memory at an address. Addresses one byte, a page or 4 GiB apart differ."""
    return (address * 0x9E3779B1 >> 11) & 0xFF


def enabled_bytes(address, dwords, first_be, last_be):
    """The byte addresses that a request's byte enables select, in order."""
    assert address % 4 == 0 and (dwords > 1) == (last_be != 0)
    enables = [first_be, *[0xf]*(dwords - 2), last_be] if dwords > 1 else [first_be]
    return [address + 4*n + byte
        for n, enable in enumerate(enables) for byte in range(4) if enable >> byte & 1]


class DmaBench:
    """`dut` is a DMA engine whose registers have LitePCIe's names."""

    def __init__(self, dut, seed):
        self.dut  = dut
        self.bank = CsrBench(dut)
        self.rng  = random.Random(seed)
        self.interrupts = 0

    def write(self, name, *values):
        """Write the words of a register, the upper one first."""
        for address, value in zip(self.bank.addresses[name], values, strict=True):
            yield self.bank.csr.adr.eq(address)
            yield self.bank.csr.dat_w.eq(value)
            yield self.bank.csr.we.eq(1)
            yield
            yield self.bank.csr.we.eq(0)
            yield

    def program(self, descriptors):
        """Write descriptors (address, length, interrupt wanted, more flags of the control word)."""
        for address, length, irq, *flags in descriptors:
            control = (0 if irq else IRQ_DISABLE) | length | sum(flags)
            yield from self.write("table_value", control, address & 0xffffffff)
            yield from self.write("table_we", address >> 32)

    def status(self):
        """The loop status, as software reads it."""
        return (yield from self.bank.read("table_loop_status"))

    def at_rest(self):
        return (yield from self.bank.read("enable")) & 2

    @passive
    def count_interrupts(self):
        while True:
            self.interrupts += (yield self.dut.irq)
            yield
