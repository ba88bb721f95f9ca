# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Measures the throughput of the card alone: no software has to keep up with the card.

The host fills the descriptor table before the card starts, and writes nothing to the card during
the measurement. The card loops over the table. If the job is held, the table does not loop and
lasts longer than the window. The start of the card and both ends of the window are planned for
cycles of device time, and every run has a board of its own. So a value is the same to the last
digit however busy the machine is. Bytes are counted at the hard block's pins. The card's own
counters must agree with that count, and the data in the ring must be right."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gateware import numbers
from gateware.dma.bits import NOTICES_CONTROL, PATTERN_CONTROL
from gateware.observe.bits import COUNTERS_CONTROL
from sim.clients.vfio import BAR0
from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.measure import Conditions
from sim.rows.peer import Bar

DESCRIPTORS = numbers.DMA_TABLE_DEPTH
BUFFER = numbers.STOCK_BUFFER_SIZE
# The card starts in this cycle. Even the slowest client has filled the descriptor table by then.
START = 1 << 16
# A rate is measured over this many cycles, 1.05 ms. One TLP more is less than a ten-thousandth.
WINDOW = 1 << 18
LONG_WINDOW = 1 << 20  # A rate is measured over this many cycles if the host has random latencies.
SETTLED = 8192  # A DMA stream is steady after this many cycles and four round trips.
SECONDS = 120  # A run may take this many seconds of wall time. It takes about one.
MEMORY = {"c2h": 0x1_0000_0000, "h2c": 0x2_0000_0000}
PREFIX = {"c2h": "pcie_dma0_writer", "h2c": "pcie_dma0_reader"}
# The interface of the hard block that carries the data of a direction.
STREAM = {"c2h": "rq", "h2c": "rc"}
# Every DMA descriptor has these flags: no interrupt, and no end of a packet.
FLAGS = numbers.DESCRIPTOR_IRQ_DISABLE | numbers.DESCRIPTOR_LAST_DISABLE
NOTICES = 0x3_0000_0000  # Bus address of the host memory for the card's status lines and records.
# The offset of each direction's status line in the memory at NOTICES, in bytes.
LINES = {"c2h": 0, "h2c": 64}
RECORDS = 4096  # The offset of the card's records in the memory at NOTICES, in bytes.
# A record, the card's report of a finished buffer: bytes, flags, sequence number from 1 on.
RECORD = struct.Struct("<IIQ")
C2H_GENERATE, H2C_CHECK = (1 << PATTERN_CONTROL[name] for name in ("c2h_generate", "h2c_check"))
# By direction: bits of pcie_notices0_control. If set, the card reports its progress in host memory.
CONTROL = {
    way: sum(1 << bit for name, bit in NOTICES_CONTROL.items() if name.startswith(way))
    for way in ("c2h", "h2c")
}
SNAPSHOT, CLEAR = (1 << COUNTERS_CONTROL[name] for name in ("snapshot", "clear"))
CHUNK = 64  # the most descriptors that are sent to the board in one message


@dataclass(frozen=True)
class Job:
    """A measurement: the directions that run, the bytes of a descriptor, and the cycles that are
    measured."""

    ways: tuple[str, ...]
    size: int = BUFFER
    loopback: bool = False
    window: int = WINDOW
    told: bool = False  # The card reports to host memory, in records and status lines.
    # The stream is held: the descriptor table does not loop. It has each descriptor once, and lasts
    # for the whole window.
    held: bool = False

    @property
    def ring(self) -> int:
        """Return the number of bytes that all descriptors of one direction hold together."""
        return DESCRIPTORS * self.size

    @property
    def stride(self) -> int:
        """Return the distance in bytes from the start of one descriptor's host memory to that of
        the next.

        The distance is a power of two, so that no descriptor of up to 4 KiB crosses a page.
        """
        return 1 << (self.size - 1).bit_length()

    @property
    def line_bytes(self) -> int:
        """Return the most bytes that the card's status lines can take in the measured window."""
        lines = len(self.ways) * (self.window // numbers.STATUS_CYCLES + 1)
        return lines * numbers.STATUS_BYTES if self.told else 0

    @property
    def name(self) -> str:
        """Return the job's name, the argument of --direction of `litepcie_util dma_test`."""
        return "loopback" if self.loopback else "both" if len(self.ways) > 1 else self.ways[0]


class Stream(Bar):
    """A board whose card runs one job.

    Use: `with Stream(board, csr, conditions, job) as stream: report, broken = stream.run()`."""

    def __init__(self, board: Path, csr: Path, at: Conditions, job: Job, more=()):
        super().__init__(board, csr, at, list(more))
        self.job = job
        self.rings: dict[str, mmap.mmap] = {}
        # This function is called again and again while the board carries out the plan.
        self.waiting: Callable[[], None] = lambda: None

    def __enter__(self) -> Stream:
        super().__enter__()
        self._open = contextlib.ExitStack()
        return self

    def __exit__(self, *error) -> None:
        super().__exit__(*error)
        self._open.close()

    def run(self) -> tuple[dict, int]:
        """Run the job.

        Returns a report in the form of `litepcie_util dma_test`, and how often the card broke a
        rule in the window."""
        for way in self.job.ways:
            self._map(way)
            self._fill_table(way)
        if self.job.told:
            self._tell()
        self._set("pcie_dma0_loopback_enable", int(self.job.loopback))
        self._set("pattern_control", 0 if self.job.loopback else C2H_GENERATE | H2C_CHECK)
        # The board answers this write, so all earlier writes have arrived at the card.
        self.register("pcie_counters_control", CLEAR)
        self.board.command("clear")
        first, last = self._plan()
        self._rest()
        self._agree()
        compared = {way: self._compare(way) for way in self.job.ways}
        return self._report(first, last, compared), last["violations"]

    # Host memory before the card's start -------------------------------------------------------

    def _address(self, name: str) -> int:
        return self.csr["csr_registers"][name]["addr"]

    def _set(self, name: str, value: int) -> None:
        self.client.write_multi([(self._address(name), value.to_bytes(4, "little"))])

    def _map(self, way: str) -> None:
        """Map the ring of one direction: memory that the card and this process share.

        The ring of h2c gets the pattern that the card's checker expects."""
        fd = os.memfd_create("lanebox-stream")
        self._open.callback(os.close, fd)
        size = max(DESCRIPTORS * self.job.stride, mmap.PAGESIZE)
        os.ftruncate(fd, size)
        ring = self.rings[way] = mmap.mmap(fd, size)
        self._open.callback(ring.close)
        if way == "h2c":
            for number in range(DESCRIPTORS):
                at, start = number * self.job.stride, number * self.job.size
                ring[at : at + self.job.size] = pattern(start, self.job.size)
        self.client.map(MEMORY[way], size, fd)

    def _tell(self) -> None:
        """Map memory for the card's records and status lines, and write the addresses to the card's
        registers."""
        fd = os.memfd_create("lanebox-notices")
        self._open.callback(os.close, fd)
        size = RECORDS + DESCRIPTORS * RECORD.size
        os.ftruncate(fd, size)
        self.notices = mmap.mmap(fd, size)
        self._open.callback(self.notices.close)
        self.client.map(NOTICES, size, fd)
        for name, place in (
            ("writer_records_base", RECORDS),
            ("writer_status_base", LINES["c2h"]),
            ("reader_status_base", LINES["h2c"]),
        ):
            self._set64(f"pcie_notices0_{name}", NOTICES + place)
        self._set("pcie_notices0_writer_records_entries", DESCRIPTORS.bit_length() - 1)
        self._set("pcie_notices0_control", sum(CONTROL[way] for way in self.job.ways))

    def _set64(self, name: str, value: int) -> None:
        words = [(self._address(name) + 4 * n, value >> 32 * (1 - n)) for n in range(2)]
        self.client.write_multi(
            [(at, (word & 0xFFFF_FFFF).to_bytes(4, "little")) for at, word in words]
        )

    def _fill_table(self, way: str) -> None:
        prefix, size = PREFIX[way], self.job.size
        for name, value in (("enable", 0), ("table_reset", 1), ("table_loop_prog_n", 0)):
            self._set(f"{prefix}_{name}", value)
        value, go = self._address(f"{prefix}_table_value"), self._address(f"{prefix}_table_we")
        writes = []
        for number in range(DESCRIPTORS):
            address = MEMORY[way] + number * self.job.stride
            words = (size | FLAGS, address & 0xFFFF_FFFF, address >> 32)
            for where, word in zip((value, value + 4, go), words):
                writes.append((where, word.to_bytes(4, "little")))
        for start in range(0, len(writes), 3 * CHUNK):
            self.client.write_multi(writes[start : start + 3 * CHUNK])
        self._set(f"{prefix}_table_loop_prog_n", int(not self.job.held))

    # The run of the card's streams -------------------------------------------------------------

    def _plan(self) -> tuple[dict, dict]:
        """Plan the start of the card, a mark at both ends of the window, and the stop of the card.

        Returns the board's counters at both marks, when all of the plan has been carried out."""
        begin = START + SETTLED + 4 * self.at.longest_read_ns // limits.CYCLE_NS
        end = begin + self.job.window
        for cycle in (begin, end):
            self.board.command(f"at {cycle} mark")
        for cycle, on in ((START, 1), (end + 1, 0)):
            for way in self.job.ways:
                enable = self._address(f"{PREFIX[way]}_enable")
                self.board.command(f"at {cycle} write {enable} {on}")
        deadline = time.monotonic() + SECONDS
        while (stats := self.board.stats())["planned"]:
            if time.monotonic() > deadline:
                raise TestFailed(f"{self.job}: not done within {SECONDS} s")
            self.waiting()
            time.sleep(0.01)
        return stats["marks"]["0"], stats["marks"]["1"]

    def _rest(self) -> None:
        """Wait until the number of beats on RQ and RC no longer changes: then no DMA data moves."""
        last = None
        while (now := [self.board.stats()[name]["beats"] for name in STREAM.values()]) != last:
            last = now
            time.sleep(0.02)

    def _agree(self) -> None:
        """Raise TestFailed if the card's own counters of bytes differ from what the board counted
        at the pins."""
        self.register("pcie_counters_control", SNAPSHOT)
        stats = self.board.stats()
        for way in self.job.ways:
            name = STREAM[way]
            counted = self.counter(f"{name}_payload_bytes")
            if counted != stats[name]["payload_bytes"]:
                raise TestFailed(
                    f"{name}: the card counted {counted} bytes, "
                    f"{stats[name]['payload_bytes']} passed its pins"
                )

    # Comparison of the streams' data -----------------------------------------------------------

    def _compare(self, way: str) -> int:
        """Return the number of bytes that were found right in the direction `way`. Raise TestFailed
        if data is wrong.

        For c2h and the loopback these are the bytes in the ring of c2h. For h2c they are the bytes
        that the card's checker has compared in its first turn of the ring.
        """
        if self.job.loopback or way == "c2h":
            return self._compare_ring()
        beats, errors = self._value("pattern_h2c_beats"), self._value("pattern_h2c_errors")
        first = self._value("pattern_h2c_first_error") if errors else beats
        turn = self.job.ring // limits.BEAT_BYTES
        if not beats or first < min(beats, turn):
            raise TestFailed(f"h2c: {errors} of {beats} beats were wrong, the first is {first}")
        return min(beats, turn) * limits.BEAT_BYTES

    def _compare_ring(self) -> int:
        """Compare the ring of c2h with what the card wrote there last. Return how many bytes it
        has."""
        if self.job.told:
            return self._compare_told()
        sent = self.board.stats()["rq"]["payload_bytes"]
        for number in range(DESCRIPTORS):
            at = number * self.job.stride
            wanted = self._wanted(number * self.job.size, sent)
            if self.rings["c2h"][at : at + self.job.size] != wanted:
                raise TestFailed(f"{self.job.name}: descriptor {number} holds wrong data")
        return min(sent, self.job.ring)

    def _compare_told(self) -> int:
        """Compare the records, and the memory of each descriptor that the status line reports as
        done.

        The card may have begun the next turn of the ring when it was stopped, so a record and its
        data may already be those of the next turn. Returns the bytes compared."""
        size, ring = self.job.size, self.rings["c2h"]
        done = int.from_bytes(self.notices[8:16], "little")
        if not done or self.job.held and done >= DESCRIPTORS:
            raise TestFailed(f"{self.job}: {done} descriptors had ended when it was stopped")
        for sequence in range(max(1, done - DESCRIPTORS + 1), done + 1):
            number = (sequence - 1) % DESCRIPTORS
            record = RECORD.unpack_from(self.notices, RECORDS + number * RECORD.size)
            if record not in ((size, 0, sequence), (size, 0, sequence + DESCRIPTORS)):
                raise TestFailed(f"{self.job}: record {sequence} is {record}")
            data = ring[number * self.job.stride :][:size]
            turns = [(sequence - 1 + n * DESCRIPTORS) * size for n in range(2)]
            if data not in [self._sent(start, size) for start in turns]:
                raise TestFailed(f"{self.job.name}: descriptor {number} holds wrong data")
        return min(done, DESCRIPTORS) * size

    def _wanted(self, start: int, sent: int) -> bytes:
        """Return what a descriptor's memory must hold when `sent` bytes of the stream have been
        sent.

        `start` is the descriptor's place in the ring, in bytes. The card may have stopped inside a
        descriptor. The front of that descriptor's memory then has data of the last turn of the
        ring, and the back has data of the turn before."""
        ring, size = self.job.ring, self.job.size
        turn = (sent - start) // ring
        new = min(size, sent - start - turn * ring)
        return (
            self._sent(start + turn * ring, size)[:new]
            + (self._sent(start + (turn - 1) * ring, size)[new:])
        )

    def _sent(self, start: int, size: int) -> bytes:
        """Return `size` bytes of the c2h stream from byte `start` on.

        In loopback the stream repeats the ring of h2c."""
        if start < 0:  # Before the card has filled the ring once, the ring's memory is zero.
            return bytes(size)
        return pattern(start % self.job.ring if self.job.loopback else start, size)

    def _value(self, name: str) -> int:
        """Return the value of a register of the card, by its name."""
        entry, value = self.csr["csr_registers"][name], 0
        for dword in range(entry["size"]):
            data = self.client.read(BAR0, entry["addr"] + 4 * dword, 4)
            value = value << 32 | int.from_bytes(data, "little")
        return value

    def _report(self, first: dict, last: dict, compared: dict[str, int]) -> dict:
        cycles = last["cycle"] - first["cycle"]
        streams = {
            name: {what: last[name][what] - first[name][what] for what in last[name]}
            for name in ("cq", "cc", "rq", "rc")
        }
        report = {"ok": True, "direction": self.job.name, "c2h": None, "h2c": None}
        for way in self.job.ways:
            moved = self._data(way, streams[STREAM[way]]["payload_bytes"])
            if not moved:
                raise TestFailed(f"{way}: nothing passed in {cycles} cycles")
            report[way] = {
                "gb_per_s": moved / (cycles * limits.CYCLE_NS),
                "bytes_per_cycle": moved / cycles,
                "window_bytes": moved,
                "compared_bytes": compared[way],
            }
        return {**report, "window": {"cycles": cycles, **streams}}

    def _data(self, way: str, payload: int) -> int:
        """Return how many of `payload` bytes on RQ or RC are data of the direction `way`, and not
        records or status lines.

        The largest possible number of status lines is subtracted, so the result is a lower bound.
        """
        if way == "h2c" or not self.job.told:
            return payload
        data = payload - self.job.line_bytes
        return data * self.job.size // (self.job.size + RECORD.size)


def pattern(start: int, size: int) -> bytes:
    """Return `size` bytes of the card's pattern from byte `start` on.

    Each dword of the pattern is the dword's number in the stream."""
    first = start // 4
    return array(
        "I", [number & 0xFFFF_FFFF for number in range(first, first + size // 4)]
    ).tobytes()


def measure(board: Path, csr: Path, at: Conditions, job: Job, *more: str):
    """Run a job on a new board.

    Returns (report, conditions, broken rules), as the functions of sim.rows.measure take them.
    `more` are further options of the board."""
    with Stream(board, csr, at, job, more) as stream:
        report, violations = stream.run()
    return report, at, violations
