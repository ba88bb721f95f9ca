# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The CPU's memory: 16 KiB of block RAM with a port for the CPU and one for the host.

The host sees the image and the mailbox, each in a window of its own. It writes to the image only
while the CPU is held. A reset of the card clears nothing, so the log outlives it.

On silicon a read in the very moment of the other port's write of the same word may return neither
the old nor the new word. So a reader of a counter in the mailbox reads it again until two reads
give the same value."""

from litex.gen import *
from litex.soc.interconnect import wishbone
from migen import *
from migen.fhdl.specials import READ_FIRST

from gateware import numbers
from gateware.card.cpu.layout import MAILBOX_BASE, MEMORY_BYTES, WORD


class CpuMemory(LiteXModule):
    """The CPU's memory. The starter's reads (`check_`) wait while the host uses the second port."""
    def __init__(self):
        self.image   = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.mailbox = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.open          = Signal()   # i, the host may write to the image.
        self.check_address = Signal(log2_int(MEMORY_BYTES//WORD)) # i
        self.check_read    = Signal()   # i
        self.check_taken   = Signal()   # o
        self.check_keep    = Signal()   # i, the host waits so that `check_data` stays as it is.
        self.check_data    = Signal(32) # o

        # # #

        self.array = array = Memory(32, MEMORY_BYTES//WORD, name="firmware")
        array.attr = {("ram_style", "block")}
        self.cpu   = array.get_port(write_capable=True, we_granularity=8, mode=READ_FIRST,
            clock_domain="cpu")
        self.host  = host = array.get_port(write_capable=True, we_granularity=8, has_re=True,
            mode=READ_FIRST)
        self.specials += array, self.cpu, host

        self.comb += [
            host.adr.eq(self.check_address),
            self.check_taken.eq(self.check_read),
            self.check_data.eq(host.dat_r),
            host.re.eq(~self.check_keep),
        ]
        # The SoC's bus has one access at a time, so the two windows never meet.
        self.add_window(self.image,   0,            numbers.CPU_IMAGE_SIZE,   self.open)
        self.add_window(self.mailbox, MAILBOX_BASE, numbers.CPU_MAILBOX_SIZE, 1)

    def add_window(self, bus, base, size, writable):
        """Lets `bus` reach `size` bytes of the memory from `base` on; writes only if `writable`."""
        host, begin = self.host, Signal()
        self.comb += [
            begin.eq(bus.cyc & bus.stb & ~bus.ack & ~self.check_keep),
            bus.dat_r.eq(host.dat_r),
            If(begin,
                self.check_taken.eq(0),
                host.adr.eq(base//WORD | bus.adr[:log2_int(size//WORD)]),
                host.dat_w.eq(bus.dat_w),
                If(bus.we & writable, host.we.eq(bus.sel)),
            ),
        ]
        self.sync += bus.ack.eq(begin)

    def set_image(self, words):
        """Sets the words with which the memory starts; the rest of it is 0."""
        self.array.init = [*words, *[0]*(MEMORY_BYTES//WORD - len(words))]
