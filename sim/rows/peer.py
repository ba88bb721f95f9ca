# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows of a peer device that reads and writes the card's memory, as an NVMe drive does.

The peer sits behind the root complex and sends requests without a break, so the card or the link
limits the rate. The rate of reads is min(interface, wire, non-posted credits x size / loop). The
loop is the card's time from a read on CQ to the return of its non-posted credit."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gateware import numbers
from sim.board.process import BoardProcess
from sim.clients.vfio import BAR0, CONFIG, VfioClient
from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.measure import Conditions
from sim.rows.results import Row, row

# The reads of a measured job. The first one's round trip is under 0.1 % of the job's time.
COUNT = 20_000
WRITES = 100_000
# Writes are measured between these two cycles, counted from START.
WRITE_WINDOW = (8192, 8192 + (1 << 18))
# The peer's job walks through this many bytes of the card's memory again and again.
PAGE = numbers.PAGE_BYTES
# Cycles of device time at which the peer, a second simulated device behind the root complex, begins
# its jobs. At FILL it writes the PAGE bytes of the card's memory that it reads later. At START the
# measured reads or writes begin. Even the slowest client has set up the card by FILL, so a job is
# the same however busy the machine is.
FILL, START = 1 << 16, (1 << 16) + 8192
TAGS = 64
# Pairs of MPS and the sizes of the reads that are measured with it, all in bytes.
SIZES = ((256, (64, 128, 256)), (512, (512,)))
CREDITS = 32  # The non-posted credits that the endpoint grants after reset.
SECONDS = 60  # A job of the peer fails after this many seconds of wall time.

COMMAND, BAR0_REGISTER, BAR2_REGISTER = 0x04, 0x10, 0x18
DEVICE_CONTROL = numbers.CONFIG_EXPRESS + 8
MEMORY_SPACE, BUS_MASTER = 0x2, 0x4
EXTENDED_TAGS = 0x100
BAR0_ADDRESS, BAR2_ADDRESS = 0xE000_0000, 0xF000_0000


@dataclass(frozen=True)
class Place:
    """An address in one of the card's BARs: `bar` is 0 or 2, `offset` is in bytes."""

    bar: int
    offset: int


class Bar:
    """A board whose card has BAR addresses, MPS and MRRS, so that the peer may access its BARs.

    Use: `with Bar(board, csr, conditions) as bar:`. `csr` is the path of the gateware's register
    map, csr.json."""

    def __init__(self, board: Path, csr: Path, at: Conditions, more: list[str] | None = None):
        self.at = at
        self.csr = json.loads(csr.read_text())
        self.board = BoardProcess(board, at.board_options() + (more or []))

    def __enter__(self) -> Bar:
        self.board.__enter__()
        self.client = self.connect()
        sizes = (self.at.mps.bit_length() - 8) << 5 | (self.at.mrrs.bit_length() - 8) << 12
        for offset, value, count in (
            (BAR0_REGISTER, BAR0_ADDRESS, 4),
            (BAR2_REGISTER, BAR2_ADDRESS, 4),
            (DEVICE_CONTROL, 0x10 | EXTENDED_TAGS | sizes, 2),
            (COMMAND, MEMORY_SPACE | BUS_MASTER, 2),
        ):
            self.client.write(CONFIG, offset, value.to_bytes(count, "little"))
        return self

    def connect(self) -> VfioClient:
        """Return a new vfio-user client of the board with the peer."""
        return VfioClient(self.board.socket)

    def __exit__(self, *error) -> None:
        self.client.close()
        self.board.__exit__(*error)

    def register(self, name: str, value: int) -> None:
        """Write one of the card's registers and wait for the board's answer.

        The write reaches the card before any later access."""
        address = self.csr["csr_registers"][name]["addr"]
        self.client.write(BAR0, address, value.to_bytes(4, "little"))

    def register64(self, name: str, value: int) -> None:
        """Write a register of 64 bits, as two writes of 32 bits with the upper half first."""
        address = self.csr["csr_registers"][name]["addr"]
        for offset, half in ((0, value >> 32), (4, value & 0xFFFF_FFFF)):
            self.client.write(BAR0, address + offset, half.to_bytes(4, "little"))

    def read_register(self, name: str) -> int:
        """Return the value of one of the card's registers of up to 32 bits."""
        address = self.csr["csr_registers"][name]["addr"]
        return int.from_bytes(self.client.read(BAR0, address, 4), "little")

    @property
    def memory(self) -> Place:
        """Return the address of the card's memory `memory0`, which is in BAR0."""
        return Place(0, self.csr["memories"]["memory0"]["base"])

    def run(self, what: str, at: Place, size: int, count: int = COUNT) -> tuple[float, dict]:
        """Let the peer carry out one job of `count` requests now. Return the job's rate in GB/s and
        the board's statistics.

        `what` is "read" or "write", `size` the bytes of a request.
        """
        self.board.command("clear")
        self.board.command(f"peer {what} bar{at.bar} {at.offset} {size} {count} {TAGS}")
        return self._finish(what, size, count)

    def _finish(self, what: str, size: int, count: int) -> tuple[float, dict]:
        deadline = time.monotonic() + SECONDS
        while (stats := self.board.stats())["peer"]["busy"] or stats["planned"]:
            if time.monotonic() > deadline:
                raise TestFailed(f"peer {what} of {size} bytes: not done within {SECONDS} s")
            time.sleep(0.01)
        peer = stats["peer"]
        if peer["errors"] or peer["timeouts"] or peer["bytes"] != size * count:
            raise TestFailed(f"peer {what} of {size} bytes: {peer}")
        return peer["bytes"] / (peer["ticks"] * limits.CYCLE_NS), stats

    def fill(self, at: Place, size: int) -> None:
        """Let the peer write the page of the card.

        Its later reads compare the page with the same data."""
        self.run("write", at, size)

    def read(self, at: Place, size: int) -> tuple[float, dict]:
        """Let the peer fill a page, and read it from cycle START on. Call this on a new board.

        Returns the rate in GB/s and the board's statistics."""
        self.board.command("clear")
        job = f"bar{at.bar} {at.offset} {size}"
        self.board.command(f"at {FILL} peer write {job} {PAGE // size} {TAGS}")
        self.board.command(f"at {START} peer read {job} {COUNT} {TAGS}")
        return self._finish("read", size, COUNT)

    def read_row(self, name: str, at: Place, size: int, limit: limits.Limit) -> Row:
        """Return the row of the peer's reads of `size` bytes on a new board.

        The peer compares all data. Raises TestFailed if a dword was wrong."""
        rate, stats = self.read(at, size)
        if stats["peer"]["mismatches"]:
            raise TestFailed(f"{name}: {stats['peer']['mismatches']} dwords were wrong")
        return self._row(name, rate, limit, stats)

    def write_row(self, name: str, at: Place, size: int) -> Row:
        """Return the row of the peer's writes of `size` bytes, counted on CQ in the middle of a
        job.

        The peer's own count runs ahead of CQ: at the end of its job some writes are still in
        queues."""
        self.board.command("clear")
        self.board.command(f"at {START} peer write bar{at.bar} {at.offset} {size} {WRITES} {TAGS}")
        for cycle in WRITE_WINDOW:
            self.board.command(f"at {START + cycle} mark")
        _, stats = self._finish("write", size, WRITES)
        first, last = (stats["marks"][mark] for mark in ("0", "1"))
        moved, beats = (last["cq"][what] - first["cq"][what] for what in ("payload_bytes", "beats"))
        stats["peer"]["ticks"], stats["peer"]["bytes"] = last["cycle"] - first["cycle"], moved
        rate = moved / (stats["peer"]["ticks"] * limits.CYCLE_NS)
        limit = limits.mmio_write(size, self.at.mps, below_4_gib=True)
        entry = self._row(name, rate, limit, stats)
        entry.conditions["cq_beats"] = beats
        return entry

    def counter(self, name: str) -> int:
        """Return the 64-bit value of the card's counter `name` in the last snapshot of its
        counters."""
        address = self.csr["csr_registers"][f"pcie_counters_{name}"]["addr"]
        high, low = (self.client.read(BAR0, address + 4 * n, 4) for n in range(2))
        return int.from_bytes(low + high, "little")

    def _row(self, name: str, rate: float, limit: limits.Limit, stats: dict) -> Row:
        return row(
            self.at.card.prefix + name,
            rate,
            "GB/s",
            limit,
            violations=sum(stats["violations"].values()),
            bytes=stats["peer"]["bytes"],
            cycles=stats["peer"]["ticks"],
            conditions={**asdict(self.at), "tags": TAGS},
        )


def with_credits(size: int, mps: int, credits: int, loop_cycles: float) -> limits.Limit:
    """Return the limit of reads of `size` bytes with `credits` non-posted credits.

    The formula is in the docstring of this module."""
    ceiling = limits.cc(size, mps)
    latency = credits * size / (loop_cycles * limits.CYCLE_NS)
    return ceiling if ceiling.value <= latency else limits.Limit(latency, "credits x size / loop")


def rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield rows of the peer's reads by size, of its writes, and of its reads by number of credits.

    Each row is measured on a new board."""
    for mps, sizes in SIZES:
        for size in sizes:
            with Bar(board, csr, replace(at, mps=mps)) as bar:
                yield bar.read_row(f"p2p_read/{size}", bar.memory, size, limits.cc(size, mps))
    with Bar(board, csr, at) as bar:
        yield bar.write_row("mmio_write/64", bar.memory, 64)
    yield from credit_rows(board, csr, at)


def axi_rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield rows of the peer's reads of a memory on the user slot's AXI4 bus.

    The memory has a latency of 50 cycles."""
    window = Place(2, numbers.AXI_BASE)
    for mps, sizes in SIZES:
        for size in sizes:
            with Bar(board, csr, replace(at, mps=mps)) as bar:
                limit = limits.cc(size, mps)
                yield bar.read_row(f"p2p_read_axi50/{size}", window, size, limit)


def credit_rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield rows of the peer's reads by the number of non-posted credits that the endpoint grants.

    The loop time of the formula in this module's docstring is measured with one credit, where
    nothing else can limit the rate."""
    for size in (64, 256):
        loop = None
        for credits in (1, 2, 4, 8, 16, 32):
            with Bar(board, csr, at) as bar:
                set_credits(bar, credits)
                rate, stats = bar.read(bar.memory, size)
                loop = loop or size / rate / limits.CYCLE_NS
                limit = with_credits(size, at.mps, credits, loop)
                entry = bar._row(f"p2p_read/{size}@np{credits}", rate, limit, stats)
                entry.conditions["loop_cycles"] = loop
                yield entry


def set_credits(bar: Bar, credits: int) -> None:
    """Set the number of non-posted credits that the endpoint grants, by an endpoint register."""
    field = bar.csr["csr_registers"]
    assert "pcie_endpoint_control" in field, "only the Lanebox endpoint has the register"
    bar.register("pcie_endpoint_control", credits << 8)
