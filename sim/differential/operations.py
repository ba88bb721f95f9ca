# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is done to the card, as data: the same list for every host that executes it.

Nothing here depends on time: no read of a register that counts or that a poll would repeat, so the
requests that the host sends are the same however long an answer takes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

# Host memory, one piece that needs addresses of 32 bits, one that needs 64.
LOW, HIGH = 0x9000_0000, 0x2_4000_0000
PIECE = 128 * 1024
MEMORIES = (LOW, HIGH)

UNMAPPED = 0x1_C000  # inside the BAR, behind everything
NOWHERE = 0xA000_0000  # a bus address without memory

CAP_MSI, CAP_EXPRESS = 0x05, 0x10
EXTENDED_TAGS, LINK_FIELDS = 0x100, 0x70E0  # of Device Control: enable; MPS and MRRS
IRQ_DISABLE, LAST_DISABLE = 1 << 24, 1 << 25  # in a descriptor's upper dword
C2H_GENERATE = 1
DRAIN_READS = 16


@dataclass(frozen=True)
class Link:
    """Set Device Control's sizes, and enable extended tags: both hosts give the card as many."""

    mps: int
    mrrs: int


@dataclass(frozen=True)
class ConfigRead:
    """The masked bits of a field of a capability (None: of the header)."""

    capability: int | None
    offset: int
    size: int
    mask: int


@dataclass(frozen=True)
class Read:
    offset: int
    size: int = 4


@dataclass(frozen=True)
class ReadMany:
    """Reads of one size that are under way together."""

    offsets: tuple
    size: int = 4


@dataclass(frozen=True)
class Write:
    offset: int
    value: int
    size: int = 4


@dataclass(frozen=True)
class Fill:
    """Put bytes into host memory, without the card."""

    address: int
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class AwaitMemory:
    """Wait until host memory holds these bytes."""

    address: int
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class AwaitInterrupts:
    """Wait until so many messages have come since the beginning."""

    total: int


class Registers:
    """Operations on registers by name, from the gateware's csr.json."""

    def __init__(self, csr: dict):
        self.csr, self.memories = csr["csr_registers"], csr["memories"]
        self.constants = csr["constants"]

    def write(self, name: str, value: int, at: int = 0) -> Write:
        return Write(self.csr[name]["addr"] + at, value)

    def read(self, name: str, at: int = 0) -> Read:
        return Read(self.csr[name]["addr"] + at)

    def program(self, channel: str, descriptors: list, interrupt: bool) -> list:
        """Fill a DMA table; the last descriptor alone interrupts, if any does."""
        name = f"pcie_dma0_{channel}"
        before = (("enable", 0), ("table_reset", 1), ("table_loop_prog_n", 0))
        steps = [self.write(f"{name}_{register}", value) for register, value in before]
        for i, (address, count) in enumerate(descriptors):
            raises = interrupt and i == len(descriptors) - 1
            upper = count | LAST_DISABLE | (0 if raises else IRQ_DISABLE)
            steps += [
                self.write(f"{name}_table_value", upper),
                self.write(f"{name}_table_value", address & 0xFFFF_FFFF, 4),
                self.write(f"{name}_table_we", address >> 32),
            ]
        return steps

    def stop(self) -> list:
        """Both directions off, the streams back at the user slot, and what was in them gone.

        A writer that is off drops a beat a cycle: the reads are there for the time that they take.
        """
        names = ("pcie_dma0_writer_enable", "pcie_dma0_reader_enable",
                 "pcie_dma0_loopback_enable", "pattern_control")  # fmt: skip
        pause = [self.read("ctrl_scratch")] * DRAIN_READS
        return [*(self.write(name, 0) for name in names), *pause]


class Plan:
    """Builds the list; `length` scales the random part and the DMA."""

    def __init__(self, csr: dict, seed: int, length: int):
        self.registers = Registers(csr)
        self.random = random.Random(seed)
        self.length = length
        self.interrupts = 0
        self.steps: list = []

    def build(self) -> list:
        self.steps += configuration_reads()
        self.steps.append(Link(256, 512))
        self.mmio()
        sizes = ((128, 512), (256, 128), (512, 256))  # each MPS and each MRRS
        for turn in range(self.length):
            for i, (mps, mrrs) in enumerate(sizes):
                self.steps.append(Link(mps, mrrs))
                self.c2h(MEMORIES[(turn + i) % 2])
                self.loopback(MEMORIES[(turn + i + 1) % 2])
        self.refused()
        return self.steps

    def mmio(self) -> None:
        """A register, both memories in every lane and at random, an address with nothing."""
        registers = self.registers
        self.steps += [
            registers.read("ctrl_scratch"),
            registers.write("ctrl_scratch", 0xCAFE_F00D),
            registers.read("ctrl_scratch"),
        ]
        for name in ("memory0", "memory1"):
            base = registers.memories[name]["base"]
            accesses = [(base + at, size) for size in (1, 2, 4, 8) for at in range(0, 8, size)]
            for _ in range(20 * self.length):
                size = self.random.choice((1, 2, 4, 4, 4, 8))
                accesses.append((base + self.random.randrange(0, 256, size), size))
            for at, size in accesses:
                value = self.random.getrandbits(8 * size)
                self.steps += [Write(at, value, size), Read(at, size)]
            offsets = tuple(base + 4 * self.random.randrange(64) for _ in range(12))
            self.steps.append(ReadMany(offsets))
        self.steps.append(Read(UNMAPPED))

    def descriptors(self, base: int) -> list:
        """Whole pages and pieces of them: the card splits none of them across 4 KiB."""
        counts = [self.random.choice((4096, 4096, 2048, 1024, 512)) for _ in range(4)]
        return [(base + 4096 * i, count) for i, count in enumerate(counts)]

    def c2h(self, memory: int) -> None:
        """The pattern into memory, with an interrupt that is looked at and cleared."""
        registers = self.registers
        bit = 1 << registers.constants["pcie_dma0_writer_interrupt"]
        descriptors = self.descriptors(memory)
        self.steps += [
            Fill(memory, bytes(4 * 4096)),
            registers.write("pcie_msi_enable", bit),
            registers.write("pattern_control", C2H_GENERATE),
            *registers.program("writer", descriptors, interrupt=True),
            registers.write("pcie_dma0_writer_enable", 1),
        ]
        first = 0
        for address, count in descriptors:
            dwords = range(first // 4, (first + count) // 4)
            data = b"".join(i.to_bytes(4, "little") for i in dwords)
            self.steps.append(AwaitMemory(address, data))
            first += count
        self.interrupts += 1
        self.steps += [
            AwaitInterrupts(self.interrupts),
            registers.read("pcie_msi_vector"),
            registers.write("pcie_msi_clear", bit),
            registers.read("pcie_msi_vector"),
            *registers.stop(),
        ]

    def loopback(self, memory: int) -> None:
        """Random bytes to the card and back, both directions at once."""
        registers = self.registers
        descriptors = self.descriptors(memory)
        back = [(address + PIECE // 2, count) for address, count in descriptors]
        data = [self.random.randbytes(count) for _, count in descriptors]
        self.steps += [Fill(address, bytes(count)) for address, count in back]
        self.steps += [Fill(address, piece) for (address, _), piece in zip(descriptors, data)]
        self.steps += [
            registers.write("pcie_msi_enable", 0),
            registers.write("pcie_dma0_loopback_enable", 1),
            *registers.program("writer", back, interrupt=False),
            *registers.program("reader", descriptors, interrupt=False),
            registers.write("pcie_dma0_writer_enable", 1),
            registers.write("pcie_dma0_reader_enable", 1),
        ]
        self.steps += [AwaitMemory(address, piece) for (address, _), piece in zip(back, data)]
        self.steps += registers.stop()

    def refused(self) -> None:
        """One read that no memory answers; last of all, since the stock endpoint stays stuck."""
        registers = self.registers
        self.steps += [
            *registers.program("reader", [(NOWHERE, 256)], interrupt=False),
            registers.write("pcie_dma0_reader_enable", 1),
            *[registers.read("ctrl_scratch")] * DRAIN_READS,
        ]


def configuration_reads() -> list:
    """What enumeration and driver rely on: sizes, link, MSI; not identities."""
    return [
        ConfigRead(CAP_EXPRESS, 0x00, 4, 0x00F0_00FF),  # endpoint
        ConfigRead(CAP_EXPRESS, 0x04, 4, 0x7),  # largest payload
        ConfigRead(CAP_EXPRESS, 0x0C, 4, 0x3FF),  # link capabilities: rate, width
        ConfigRead(CAP_EXPRESS, 0x12, 2, 0x3FF),  # link status: rate, width
        ConfigRead(CAP_MSI, 0x02, 2, 0x01FE),  # vectors, 64 bit, masks
    ]
