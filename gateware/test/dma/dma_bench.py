# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test bench of a single DMA engine (c2h or h2c).

The bench programs the engine through its registers, as software does.
"""

import random

from migen import passive

from gateware import numbers
from gateware.dma.descriptors import BEAT_BYTES
from tools.testing.csr_model import CsrBench

IRQ_DISABLE, LAST_DISABLE = numbers.DESCRIPTOR_IRQ_DISABLE, numbers.DESCRIPTOR_LAST_DISABLE


def memory_byte(address):
    """Return the byte of host memory at `address`.

    Bytes that are one byte, one page or 4 GiB apart differ.
    """
    return (address * 0x9E3779B1 >> 11) & 0xFF


def answer_reads(sink, oldest, beats, taken):
    """Answer reads of host memory at the stream `sink`, one after the other, a beat a cycle.

    `oldest` returns the address and the dwords of the read that is answered next, or None while it
    is not due. `beats` returns the fields of each beat of its answer, {name: value}. The generator
    `taken` runs after each beat, in the first cycle in which the engine may take the beat.
    """
    while True:
        read = oldest()
        if read is None:
            yield
            continue
        values = beats(*read)
        for n, fields in enumerate(values):
            yield sink.valid.eq(1)
            yield sink.first.eq(n == 0)
            yield sink.last.eq(n == len(values) - 1)
            for name, value in fields.items():
                yield getattr(sink, name).eq(value)
            yield
            yield from taken()
        yield sink.valid.eq(0)


def due(requests, now):
    """Take the oldest of `requests`, which are (time, address, dwords), if its time has come.

    Return its address and dwords, or None.
    """
    return requests.popleft()[1:] if requests and requests[0][0] <= now else None


def addresses(address, dwords):
    """Return the beats of a read's answer, of which each has its own address as data."""
    return [{"dat": at} for at in range(address, address + 4 * dwords, BEAT_BYTES)]


def contents(address, dwords):
    """Return the beats of a read's answer, which have the bytes of memory_byte()."""
    end = address + 4 * dwords
    beats = [range(at, min(at + BEAT_BYTES, end)) for at in range(address, end, BEAT_BYTES)]
    return [{"dat": int.from_bytes(bytes(map(memory_byte, beat)), "little")} for beat in beats]


def enabled_bytes(address, dwords, first_be, last_be):
    """Return the byte addresses, in order, that a request's byte enables select. The request begins
    at `address` and has `dwords` dwords.
    """
    assert address % 4 == 0 and (dwords > 1) == (last_be != 0)
    enables = [first_be, *[0xF] * (dwords - 2), last_be] if dwords > 1 else [first_be]
    return [
        address + 4 * n + byte
        for n, enable in enumerate(enables)
        for byte in range(4)
        if enable >> byte & 1
    ]


class DmaBench:
    """Drive the registers of a DMA engine `dut` as software does. The registers have LitePCIe's
    names.
    """

    def __init__(self, dut, seed):
        self.dut = dut
        self.bank = CsrBench(dut)
        self.rng = random.Random(seed)
        self.interrupts = 0

    def write(self, name, *values):
        """Write `values`, the 32-bit words of the register `name`, to the CSR bus, the most
        significant word first.
        """
        for address, value in zip(self.bank.addresses[name], values, strict=True):
            yield self.bank.csr.adr.eq(address)
            yield self.bank.csr.dat_w.eq(value)
            yield self.bank.csr.we.eq(1)
            yield
            yield self.bank.csr.we.eq(0)
            yield

    def program(self, descriptors):
        """Write descriptors to the engine's table. Each is (address, length in bytes, interrupt
        wanted, more flags).
        """
        for address, length, irq, *flags in descriptors:
            control = (0 if irq else IRQ_DISABLE) | length | sum(flags)
            yield from self.write("table_value", control, address & 0xFFFFFFFF)
            yield from self.write("table_we", address >> 32)

    def follow_loop(self, buffers, length, changes, changed=lambda: None):
        """Start a looped table of three descriptors, `buffers` bytes apart and `length` bytes long.

        Return the list of the first `changes` different values of the status. It grows while the
        engine runs; `changed` is called for each.
        """
        seen = []

        def main():
            yield from self.write("table_reset", 1)
            yield from self.program([(buffers * n, length, False) for n in range(3)])
            yield from self.write("table_loop_prog_n", 1)
            yield from self.write("enable", 1)
            while len(seen) < changes:
                status = yield from self.status()
                if not seen or seen[-1] != status:
                    seen.append(status)
                    changed()

        return main(), seen

    def status(self):
        """Read register `loop_status` of the engine's table
        over the CSR bus, and return its value.
        """
        return (yield from self.bank.read("table_loop_status"))

    def at_rest(self):
        return (yield from self.bank.read("enable")) & 2

    @passive
    def count_interrupts(self):
        while True:
            self.interrupts += yield self.dut.irq
            yield
