# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The operations on the card, as data. Every host that executes them gets the same list.

No operation depends on time: no counting register is read, and no register is polled. So the
requests that the host sends are the same however long an answer takes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from gateware import numbers
from gateware.dma.bits import PATTERN_CONTROL
from sim.clients.vfio import SIZE_FIELDS

# Bus addresses of two parts of host memory: 32-bit addresses reach LOW, and HIGH needs 64 bits.
LOW, HIGH = 0x9000_0000, 0x2_4000_0000
PIECE = 128 * 1024
MEMORIES = (LOW, HIGH)

UNMAPPED = 0x1_C000  # an offset in BAR0 at which the card has no register or memory
NOWHERE = 0xA000_0000  # a bus address at which the host has no memory

CAP_MSI, CAP_EXPRESS = 0x05, 0x10
# Bits of Device Control: Extended Tag Enable, and the fields that this test sets (MPS and MRRS).
EXTENDED_TAGS, LINK_FIELDS = 0x100, SIZE_FIELDS
IRQ_DISABLE, LAST_DISABLE = numbers.DESCRIPTOR_IRQ_DISABLE, numbers.DESCRIPTOR_LAST_DISABLE
C2H_GENERATE = 1 << PATTERN_CONTROL["c2h_generate"]
DRAIN_READS = 16
# A ReadMany operation makes this many reads of BAR0 at once. The card has credits for fewer reads,
# so it must give credits back meanwhile.
READS_TOGETHER = 80


@dataclass(frozen=True)
class Link:
    """An operation of the plan: set MPS and MRRS in Device Control, and enable extended tags."""

    mps: int
    mrrs: int


@dataclass(frozen=True)
class ConfigRead:
    """An operation: read `size` bytes at `offset` of a capability, masked with `mask`.

    If `capability` is None, the header of configuration space is read."""

    capability: int | None
    offset: int
    size: int
    mask: int


@dataclass(frozen=True)
class Read:
    """An operation of the plan: the host reads `size` bytes of the card's BAR0."""

    offset: int
    size: int = 4


@dataclass(frozen=True)
class ReadMany:
    """An operation of the plan: the host reads `size` bytes of BAR0 at each offset, all at once."""

    offsets: tuple
    size: int = 4


@dataclass(frozen=True)
class Write:
    """An operation of the plan: the host writes `size` bytes to the card's BAR0."""

    offset: int
    value: int
    size: int = 4


@dataclass(frozen=True)
class Fill:
    """An operation of the plan: put bytes into host memory. The card takes no part."""

    address: int
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class AwaitMemory:
    """An operation of the plan: wait until host memory holds the bytes `data` at `address`."""

    address: int
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class AwaitInterrupts:
    """An operation of the plan: wait until `total` interrupt messages have come since the
    beginning."""

    total: int


class Registers:
    """Makes read and write operations on the card's registers by name, from the gateware's
    csr.json."""

    def __init__(self, csr: dict):
        self.csr, self.memories = csr["csr_registers"], csr["memories"]
        self.constants = csr["constants"]

    def write(self, name: str, value: int, at: int = 0) -> Write:
        """Return an operation that writes a word of the card: `at` bytes behind the start of a
        register."""
        return Write(self.csr[name]["addr"] + at, value)

    def read(self, name: str, at: int = 0) -> Read:
        """Return an operation that reads a word of the card: `at` bytes behind the start of a
        register."""
        return Read(self.csr[name]["addr"] + at)

    def program(self, channel: str, descriptors: list, interrupt: bool) -> list:
        """Return the operations that fill a DMA table with descriptors (address, bytes).

        With `interrupt` the last descriptor raises an interrupt."""
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
        """Return the operations that stop both directions and empty the streams.

        The streams are connected to the user slot. A stopped writer drops a beat a cycle. The reads
        of registers that follow only take time, in which it does so."""
        names = (
            "pcie_dma0_writer_enable",
            "pcie_dma0_reader_enable",
            "pcie_dma0_loopback_enable",
            "pattern_control",
        )
        pause = [self.read("ctrl_scratch")] * DRAIN_READS
        return [*(self.write(name, 0) for name in names), *pause]


class Plan:
    """Builds the list of operations.

    `length` scales the number of random accesses and of DMA runs."""

    def __init__(self, csr: dict, seed: int, length: int):
        self.registers = Registers(csr)
        self.random = random.Random(seed)
        self.length = length
        self.interrupts = 0
        self.steps: list = []

    def build(self) -> list:
        """Return all operations of the plan: configuration space, registers, and DMA at each MPS
        and MRRS."""
        self.steps += configuration_reads()
        self.steps.append(Link(256, 512))
        self.mmio()
        # Pairs (MPS, MRRS) in bytes. Each MPS and each MRRS occurs once.
        sizes = ((128, 512), (256, 128), (512, 256))
        for turn in range(self.length):
            for i, (mps, mrrs) in enumerate(sizes):
                self.steps.append(Link(mps, mrrs))
                self.c2h(MEMORIES[(turn + i) % 2])
                self.loopback(MEMORIES[(turn + i + 1) % 2])
        self.refused()
        return self.steps

    def mmio(self) -> None:
        """Add accesses to a register, to both memories in every lane and at random, and off the
        map."""
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
            offsets = tuple(base + 4 * self.random.randrange(64) for _ in range(READS_TOGETHER))
            self.steps.append(ReadMany(offsets))
        self.steps.append(Read(UNMAPPED))

    def descriptors(self, base: int) -> list:
        """Return four descriptors (address, bytes) from the address `base` on, one in each 4 KiB
        page."""
        counts = [self.random.choice((4096, 4096, 2048, 1024, 512)) for _ in range(4)]
        return [(base + 4096 * i, count) for i, count in enumerate(counts)]

    def c2h(self, memory: int) -> None:
        """Add the operations of a c2h run: the card writes its pattern to memory and interrupts."""
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
        """Add the operations of a run in loopback: random bytes go to the card and back, in both
        directions at once."""
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
        """Add a read by the card that ends in Unsupported Request.

        This read comes last, since LitePCIe's endpoint does not recover from it."""
        registers = self.registers
        self.steps += [
            *registers.program("reader", [(NOWHERE, 256)], interrupt=False),
            registers.write("pcie_dma0_reader_enable", 1),
            *[registers.read("ctrl_scratch")] * DRAIN_READS,
        ]


def configuration_reads() -> list:
    """Return reads of the configuration fields that enumeration and drivers use.

    The fields are sizes, link and MSI. Identifiers are not read."""
    return [
        # PCI Express Capabilities: device type (endpoint)
        ConfigRead(CAP_EXPRESS, 0x00, 4, 0x00F0_00FF),
        ConfigRead(CAP_EXPRESS, 0x04, 4, 0x7),  # Device Capabilities: the largest payload
        ConfigRead(CAP_EXPRESS, 0x0C, 4, 0x3FF),  # Link Capabilities: rate and width
        ConfigRead(CAP_EXPRESS, 0x12, 2, 0x3FF),  # Link Status: rate and width
        # MSI control: number of vectors, 64-bit addresses, mask bits
        ConfigRead(CAP_MSI, 0x02, 2, 0x01FE),
    ]
