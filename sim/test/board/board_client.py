# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A driver in Python for the card on a simulated board: it enumerates the card, accesses registers
by name, maps host memory and runs DMA.

In a test the class Card takes the place of a real host's firmware, driver and library. It finds the
registers in the csr.json of the gateware under test, so a test can write
`card.write("ctrl_scratch", 1)`.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import time

from gateware import numbers
from gateware.dma.bits import PATTERN_CONTROL
from gateware.observe.bits import COUNTERS_CONTROL
from sim.clients.vfio import BAR0, CONFIG, READABLE, SIZE_FIELDS, WRITABLE, VfioClient

BAR0_ADDRESS = 0xE000_0000
# bus address above 4 GiB, so that the card's TLPs to it have a header of 4 dwords
HIGH_MEMORY = 0x1_0000_0000

COMMAND, BAR0_REGISTER, CAPABILITIES = 0x04, 0x10, 0x34
MEMORY_SPACE, BUS_MASTER = 0x2, 0x4
CAP_POWER, CAP_MSI, CAP_EXPRESS = 0x01, 0x05, 0x10
MSI_CONTROL, MSI_ENABLE = 2, 0x1
DEVICE_CAPABILITIES, DEVICE_CONTROL, LINK_CONTROL, DEVICE_CONTROL_2 = 4, 8, 16, 40
# bit of Device Capabilities that offers extended tags, and bit of Device Control that enables them
EXTENDED_TAGS_OFFERED, EXTENDED_TAGS = 1 << 5, 1 << 8
TIMEOUT_DISABLE = 1 << 4  # bit of Device Control 2 that disables the completion timeout
# Cycles after which the endpoint ends a read without an answer. They are few, so that tests are
# short; the reset value is 5 million.
READ_TIMEOUT = 5000

IRQ_DISABLE, LAST_DISABLE = numbers.DESCRIPTOR_IRQ_DISABLE, numbers.DESCRIPTOR_LAST_DISABLE
TABLE_DEPTH = 256
SNAPSHOT, CLEAR = (1 << COUNTERS_CONTROL[name] for name in ("snapshot", "clear"))
C2H_GENERATE, H2C_CHECK = (1 << PATTERN_CONTROL[name] for name in ("c2h_generate", "h2c_check"))
STREAMS = ("cq", "cc", "rq", "rc")

# Prefixes of the names of the DMA registers. LitePCIe calls c2h "writer" and h2c "reader".
PREFIX = {"c2h": "pcie_dma0_writer", "h2c": "pcie_dma0_reader"}
# A test's wait for the board fails after this many seconds of wall time. They are enough also on a
# busy machine.
PATIENCE = 30


def wait_until(condition, what, seconds=PATIENCE):
    """Call `condition` until it returns true. After `seconds` of wall time fail with the text
    `what`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.001)


class Memory:
    """A buffer of host memory that the card can access at the bus address `address`. `data` is the
    same memory as the host sees it."""

    def __init__(self, client, address, size, flags=READABLE | WRITABLE):
        self.address, self.size = address, size
        self.fd = os.memfd_create("lanebox-test")
        os.ftruncate(self.fd, size)
        self.data = mmap.mmap(self.fd, size)
        client.map(address, size, self.fd, flags=flags)

    def close(self):
        self.data.close()
        os.close(self.fd)


class Card:
    """A driver of the card on a simulated board, through one vfio-user connection."""

    def __init__(self, path, csr, memory_of=None):
        self.client = VfioClient(path, memory_of)
        self.csr = csr["csr_registers"]
        self.constants = csr["constants"]
        self.memories = csr["memories"]
        self.eventfd = os.eventfd(0, os.EFD_NONBLOCK)
        self._open = contextlib.ExitStack()

    def close(self):
        self._open.close()
        self.client.close()
        os.close(self.eventfd)

    # Configuration space -----------------------------------------------------------------------

    def config_read(self, offset, count=4):
        return int.from_bytes(self.client.read(CONFIG, offset, count), "little")

    def config_write(self, offset, value, count=4):
        self.client.write(CONFIG, offset, value.to_bytes(count, "little"))

    def capabilities(self):
        """Return {capability ID: offset in configuration space}, found by walking the capability
        list as an operating system does."""
        found, offset = {}, self.config_read(CAPABILITIES, 1)
        while offset:
            assert len(found) < 48, "the capability list has no end"
            found[self.config_read(offset, 1)] = offset
            offset = self.config_read(offset + 1, 1)
        return found

    def enumerate(self, mps=256, mrrs=512, msi=True, bus_master=True):
        """Set the card up as BIOS, kernel and driver do before they use it; returns the card.

        BAR0 gets its address, and MPS, MRRS, MSI, memory space and bus master are set. Extended
        tags are enabled if Device Capabilities offer them, as a kernel does.
        """
        self.config_write(BAR0_REGISTER, BAR0_ADDRESS)
        express = self.capabilities()[CAP_EXPRESS]
        offered = self.config_read(express + DEVICE_CAPABILITIES) & EXTENDED_TAGS_OFFERED
        tags = EXTENDED_TAGS if offered else 0
        sizes = (mps.bit_length() - 8) << 5 | (mrrs.bit_length() - 8) << 12
        control = express + DEVICE_CONTROL
        value = self.config_read(control, 2) & ~(SIZE_FIELDS | EXTENDED_TAGS)
        self.config_write(control, value | sizes | tags, 2)
        if msi:
            self.client.set_eventfd(self.eventfd)
            self.set_msi(True)
        self.config_write(COMMAND, MEMORY_SPACE | (BUS_MASTER if bus_master else 0), 2)
        return self

    def set_msi(self, enabled):
        offset = self.capabilities()[CAP_MSI] + MSI_CONTROL
        value = self.config_read(offset, 2) & ~MSI_ENABLE
        self.config_write(offset, value | (MSI_ENABLE if enabled else 0), 2)

    # MMIO: registers of the card ---------------------------------------------------------------

    def mmio_read(self, offset, count=4):
        return int.from_bytes(self.client.read(BAR0, offset, count), "little")

    def mmio_write(self, offset, value, count=4, posted=True):
        self.client.write(BAR0, offset, value.to_bytes(count, "little"), posted)

    def address(self, name):
        return self.csr[name]["addr"]

    def read(self, name):
        """Read the register `name` of one or two dwords; returns its value. LiteX puts the upper
        dword at the lower address."""
        value = 0
        for i in range(self.csr[name]["size"]):
            value = value << 32 | self.mmio_read(self.address(name) + 4 * i)
        return value

    def write(self, name, value):
        """Write `value` to the register `name` of one dword, by a posted write. The write has not
        arrived when this returns, but it arrives before any later read."""
        self.mmio_write(self.address(name), value)

    def write64(self, name, value):
        """Write `value` to the register `name` of two dwords, the upper dword first."""
        self.mmio_write(self.address(name), value >> 32)
        self.mmio_write(self.address(name) + 4, value & 0xFFFF_FFFF)

    def device_time(self):
        """Return the card's device time in ticks of 4 ns, modulo 2^32."""
        return self.read("device_time_low")

    def counters(self):
        """Take a snapshot of the gateware's counters. Returns {name: count} as {"time": ...,
        "rq_beats": ...}."""
        prefix = "pcie_counters_"
        self.write(prefix + "control", SNAPSHOT)
        names = [name for name in self.csr if name.startswith(prefix) and "control" not in name]
        return {name[len(prefix) :]: self.read(name) for name in names}

    def clear_counters(self):
        self.write("pcie_counters_control", CLEAR)

    def give_up_reads(self, cycles=READ_TIMEOUT):
        """Make the endpoint end a read by the card without an answer after `cycles` cycles of its
        clock.

        The hard block's own completion timeout is disabled. It is longer than three times the
        endpoint's, so the hard block would still wait for the read when the endpoint uses the
        read's tag again. A reset restores both timeouts.
        """
        self.write("pcie_endpoint_timeout", cycles)
        control = self.capabilities()[CAP_EXPRESS] + DEVICE_CONTROL_2
        self.config_write(control, TIMEOUT_DISABLE, 2)

    # Memory and interrupts ---------------------------------------------------------------------

    def memory(self, address, size, flags=READABLE | WRITABLE):
        memory = Memory(self.client, address, size, flags)
        self._open.callback(memory.close)
        return memory

    def enable_interrupts(self, *names):
        """Let only the interrupt causes in `names` ("c2h", "h2c") raise an MSI of the card."""
        bits = {
            "c2h": self.constants["pcie_dma0_writer_interrupt"],
            "h2c": self.constants["pcie_dma0_reader_interrupt"],
        }
        self.write("pcie_msi_enable", sum(1 << bits[name] for name in names))

    def wait_interrupt(self, seconds=PATIENCE):
        """Wait for an MSI, and fail if none comes within `seconds`. Returns the number of MSIs
        since the last call."""
        ready, _, _ = select.select([self.eventfd], [], [], seconds)
        assert ready, f"no MSI within {seconds} s"
        return os.eventfd_read(self.eventfd)

    def interrupts(self, seconds=0.0):
        """Return the number of MSIs since the last call. If there is none yet, wait at most
        `seconds` for the first one."""
        ready, _, _ = select.select([self.eventfd], [], [], seconds)
        return os.eventfd_read(self.eventfd) if ready else 0

    # DMA by descriptor tables ------------------------------------------------------------------

    def program(self, direction, descriptors, interrupts="last"):
        """Fill the descriptor table of `direction` ("c2h" or "h2c") with [(bus address, bytes),
        ...].

        After start() the card carries out each descriptor once. `interrupts` says which descriptors
        raise an interrupt: the "last", "all" or "none".
        """
        assert len(descriptors) <= TABLE_DEPTH, f"{len(descriptors)} descriptors do not fit"
        prefix = PREFIX[direction]
        self.write(f"{prefix}_enable", 0)
        self.write(f"{prefix}_table_reset", 1)
        self.write(f"{prefix}_table_loop_prog_n", 0)
        for i, (address, count) in enumerate(descriptors):
            last = i == len(descriptors) - 1
            raises = interrupts == "all" or (interrupts == "last" and last)
            self.add_descriptor(direction, address, count, raises)

    def add_descriptor(self, direction, address, count, interrupt=False, packet=False):
        """Append one descriptor of `count` bytes to the descriptor table of c2h or h2c.

        With `packet`, an h2c descriptor ends its data with the stream's `last`, and a c2h
        descriptor ends early where the stream has `last`. Without it, the h2c stream has no `last`,
        and c2h ignores it.
        """
        table = f"{PREFIX[direction]}_table"
        value = self.address(f"{table}_value")
        upper = count | (0 if packet else LAST_DISABLE) | (0 if interrupt else IRQ_DISABLE)
        self.mmio_write(value, upper)
        self.mmio_write(value + 4, address & 0xFFFF_FFFF)
        self.write(f"{table}_we", address >> 32)

    def start(self, *directions):
        for direction in directions:
            self.write(f"{PREFIX[direction]}_enable", 1)

    def stop(self):
        """Stop DMA in both directions. Switch off the pattern generator, its checker and the DMA's
        loopback."""
        for prefix in PREFIX.values():
            self.write(f"{prefix}_enable", 0)
        self.write("pattern_control", 0)
        self.write("pcie_dma0_loopback_enable", 0)

    def wait_data(self, memory, expected, seconds=PATIENCE):
        """Wait until `memory` begins with `expected`. If it does not after `seconds`, fail with the
        first difference.

        The data itself is polled, because an interrupt does not prove that the data has arrived:
        the MSI of stock LitePCIe overtakes the data.
        """
        deadline = time.monotonic() + seconds
        while memory.data[: len(expected)] != expected and time.monotonic() < deadline:
            time.sleep(0.002)
        assert_same(memory.data[: len(expected)], expected)

    def h2c_check(self, beats, seconds=PATIENCE):
        """Wait until the gateware's pattern checker has seen `beats` beats of h2c.

        Returns how many of the beats that it has seen were wrong.
        """
        seen = lambda: self.read("pattern_h2c_beats") >= beats  # noqa: E731
        wait_until(seen, f"{beats} beats at the pattern checker", seconds)
        return self.read("pattern_h2c_errors")


def assert_same(got, expected):
    """Fail if the two buffers differ. The error has the number of different bytes, the offset of
    the first one, and 8 bytes of both buffers from there on."""
    if got == expected:
        return
    wrong = [i for i, (a, b) in enumerate(zip(got, expected)) if a != b]
    first = wrong[0] if wrong else min(len(got), len(expected))
    here = slice(first, first + 8)
    raise AssertionError(
        f"{len(wrong)} of {len(expected)} bytes differ, the first at {first:#x}: got "
        f"{bytes(got[here]).hex()}, expected {bytes(expected[here]).hex()}"
    )


def pattern(count, first=0):
    """Return `count` bytes of the gateware's test pattern: little-endian dwords that count up from
    `first`."""
    dwords = range(first, first + count // 4)
    return b"".join((i & 0xFFFF_FFFF).to_bytes(4, "little") for i in dwords)


def slices(address, total, size):
    """Return descriptors [(address, bytes), ...] for `total` bytes from `address` on. Each has
    `size` bytes, the last one perhaps fewer."""
    return [(address + at, min(size, total - at)) for at in range(0, total, size)]
