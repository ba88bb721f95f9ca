# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Sets up the card's capture block for a row: its ring, its generator, and how a recording ends.

A measurement is planned: the generator begins in a cycle of device time that is known before, and
the host reads nothing but its own memory until the end. So no row depends on the machine's speed.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from dataclasses import dataclass

from gateware.capture.vocabulary import bits
from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.peer import START, Bar

# Bus addresses of the capture ring and of its status line in host memory.
RING, STATUS = 0x1_0000_0000, 0x2_0000_0000
MBUF_LOG2 = 20  # The ring is in MBUFs (parts of the ring) of 1 MiB.
# Bits of the registers capture_control, capture_status, capture_account_control and
# capture_generator_control.
RUN, LOSSLESS, CLEAR = (bits.mask(bits.CONTROL, name) for name in ("run", "lossless", "clear"))
IDLE, ACCOUNTS_BUSY = (bits.mask(bits.STATUS, name) for name in ("idle", "accounts_busy"))
SNAPSHOT = bits.mask(bits.ACCOUNT_CONTROL, "snapshot")
GENERATE, MIX = (bits.mask(bits.GENERATOR_CONTROL, name) for name in ("run", "mix"))
FATES = bits.FATES
PORTS = 4  # The generator gives frame n to port n % PORTS.
# The longer measurement: how long it runs in device time, in ns, and the limit on its wall time, in
# seconds.
DEVICE_NS, SECONDS = 17e6, 600


@dataclass(frozen=True)
class Kind:
    """Frames of one size in the generator. `size` is in bytes, `period` in 1/256 of a cycle."""

    size: int
    period: int = 0


@dataclass(frozen=True)
class Traffic:
    """The generator's frames: `count` frames of one kind, or in a mix of three kinds.

    Of each 12 frames of a mix, 7 are of the first kind, 4 of the second and 1 of the third.
    """

    kinds: tuple[Kind, ...]
    count: int
    seed: int = 0x1234_5678

    # The place in `kinds` of each of the 12 frames after which a mix repeats (Generator.scala).
    ORDER = (0, 1, 0, 0, 1, 0, 2, 0, 1, 0, 0, 1)

    def kind(self, number: int) -> Kind:
        """Return the Kind (size and period) of the generator's frame `number`."""
        return self.kinds[self.ORDER[number % 12] if len(self.kinds) > 1 else 0]

    def _total(self, of: int) -> int:
        rounds, rest = divmod(self.count, 12)
        if len(self.kinds) == 1:
            return self.count if of == 0 else 0
        return rounds * self.ORDER.count(of) + self.ORDER[:rest].count(of)

    @property
    def bytes(self) -> int:
        """Return the bytes of all frames of the generator together."""
        return sum(kind.size * self._total(i) for i, kind in enumerate(self.kinds))

    @property
    def record_bytes(self) -> int:
        """Return the bytes of the pcapng records of all frames, if none counts losses."""
        return sum(
            limits.capture_record(kind.size) * self._total(i) for i, kind in enumerate(self.kinds)
        )

    @property
    def ns(self) -> float:
        """Return the time in ns in which the frames come, if nothing makes the generator wait."""
        ticks = sum(kind.period * self._total(i) for i, kind in enumerate(self.kinds))
        return ticks / 256 * limits.CYCLE_NS


class Ring:
    """A ring in host memory and the capture block that fills it, on the card of `bar`.

    Of the host's memory only the ring and a page with the status line are mapped, so the board
    counts a write of the card to any other address in its statistic `unmapped`.
    """

    mbuf = 1 << MBUF_LOG2  # bytes of an MBUF, a part of the capture ring

    def __init__(
        self, bar: Bar, log2: int, wait: int | None = None, ring: int = RING, status: int = STATUS
    ):
        self.bar = bar
        self.data = self._memory(ring, 1 << log2)
        self.status = self._memory(status, mmap.PAGESIZE)
        bar.register64("capture_segment_base", ring)
        bar.register("capture_segment_index", 0)
        bar.register("capture_last_segment", 0)
        bar.register("capture_segment_log2", log2)
        bar.register("capture_mbuf_log2", MBUF_LOG2)
        bar.register64("capture_status_base", status)
        if wait is not None:
            bar.register("capture_wait", wait)
        bar.register("capture_control", CLEAR)
        self._await(IDLE | ACCOUNTS_BUSY, IDLE, "the accounts were not cleared")

    def _memory(self, address: int, size: int) -> mmap.mmap:
        """Map `size` bytes of new host memory at a bus address for the card.

        Returns the host's view of that memory.
        """
        fd = os.memfd_create("lanebox-capture")
        os.ftruncate(fd, size)
        self.bar.client.map(address, size, fd)
        data = mmap.mmap(fd, size)
        os.close(fd)
        return data

    def _await(self, mask: int, value: int, otherwise: str, seconds: float = SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while self.bar.read_register("capture_status") & mask != value:
            if time.monotonic() > deadline:
                raise TestFailed(f"the capture block: {otherwise}")
            time.sleep(0.01)

    @property
    def line(self) -> tuple[int, int, int, int]:
        """Return position, records, lost frames and time of the status line in host memory."""
        return struct.unpack_from("<4Q", self.status)

    def start(self, traffic: Traffic, limit: int, flags: int = 0) -> None:
        """Let the card take frames, and plan the generator's start for cycle START.

        The card may write the ring up to `limit`, in bytes. Call this on a new board.
        """
        bar = self.bar
        for name, kind in zip(("", "middle_", "large_"), traffic.kinds):
            bar.register(f"capture_generator_{name}size", kind.size)
            bar.register(f"capture_generator_{name}period", kind.period)
        bar.register("capture_generator_count", traffic.count)
        bar.register("capture_generator_seed", traffic.seed)
        bar.register("capture_generator_port_mask", PORTS - 1)
        self.take(limit, flags)
        address = bar.csr["csr_registers"]["capture_generator_control"]["addr"]
        value = GENERATE | (MIX if len(traffic.kinds) > 1 else 0)
        bar.board.command(f"at {START} write {address:#x} {value}")

    def take(self, limit: int, flags: int = 0) -> None:
        """Start the capture. The card takes frames, and writes records to the ring until `limit`
        bytes of it are full.
        """
        self.bar.register64("capture_limit", limit)
        self.bar.register("capture_control", RUN | flags)

    def await_generator(self, traffic: Traffic, seconds: float = SECONDS) -> None:
        """Wait until the generator has made all frames of `traffic`.

        The host reads the board's statistics and no register, so the wait adds no TLP to the link.
        """
        # The board is asked for its cycle: a read of a register would be a TLP more on the link.
        done = START + traffic.ns / limits.CYCLE_NS
        deadline = time.monotonic() + seconds
        while self.bar.board.stats()["cycles"] < done:
            if time.monotonic() > deadline:
                raise TestFailed(f"{traffic.count} frames were not made within {seconds:.0f} s")
            time.sleep(0.05)
        while self.bar.read_register("capture_generator_made") < traffic.count:
            if time.monotonic() > deadline:
                raise TestFailed(f"{traffic.count} frames were not made within {seconds:.0f} s")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the recording, and wait until the last status line is in host memory."""
        self.bar.register("capture_generator_control", 0)
        self.bar.register("capture_control", 0)
        self._await(IDLE, IDLE, "it did not stop")
        # The card is idle when the line has left it. The answer to a read arrives behind the line.
        self.bar.read_register("capture_status")

    def accounts(self) -> dict[str, tuple[int, int]]:
        """Return (frames, bytes) of all ports together, by fate."""
        self.bar.register("capture_account_control", SNAPSHOT)
        self._await(ACCOUNTS_BUSY, 0, "the accounts were not copied")
        found = {}
        for number, fate in enumerate(FATES):
            ports = [self._account(port * len(FATES) + number) for port in range(PORTS)]
            found[fate] = (sum(frames for frames, _ in ports), sum(size for _, size in ports))
        return found

    def _account(self, index: int) -> tuple[int, int]:
        self.bar.register("capture_account_control", index)
        return tuple(self.read64(f"capture_account_{what}") for what in ("frames", "bytes"))

    def read64(self, name: str) -> int:
        """Return the value of one of the card's registers of 64 bits."""
        address = self.bar.csr["csr_registers"][name]["addr"]
        high, low = (
            int.from_bytes(self.bar.client.read(0, address + offset, 4), "little")
            for offset in (0, 4)
        )
        return high << 32 | low
