# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""make sim PCAP=FILE: a capture goes through the simulated card and comes back.

lanebox-capture sends the file through h2c to the player. Its frames go to the capture block, which
writes them to a ring in host memory, and lanebox-capture records the ring. Then every packet of the
recording is compared with the file: bytes, both lengths, port, order and time. Nothing here reads
pcapng with the code that the tool uses.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from gateware import numbers
from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.measure import Conditions
from sim.rows.results import Row, row, table

SECONDS = 3600  # Seconds of wall time in which the card must have played a file.
MICROSECONDS = 6  # The unit of the times of an interface that does not say one, as power of ten.


class NotPcapng(ValueError):
    """A file is no pcapng in little endian. The message says where."""


@dataclass(frozen=True)
class Packet:
    """A packet of a pcapng file: its time in ns, its interface's number, and its bytes."""

    time: int
    port: int
    original: int  # bytes of the packet before it was cut short for the file
    data: bytes


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the type and the content of each pcapng block in `data`."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at) if at + 12 <= len(data) else (0, 0)
        if length < 12 or length % 4 or at + length > len(data):
            raise NotPcapng(f"offset {at}: there is no whole block")
        if struct.unpack_from("<I", data, at + length - 4)[0] != length:
            raise NotPcapng(f"offset {at}: the two lengths of the block differ")
        yield kind, data[at + 8 : at + length - 4]
        at += length


def _unit(options: bytes) -> tuple[int, int]:
    """Return (numerator, denominator) of the unit of time in ns that an interface's options say."""
    at, code = 0, MICROSECONDS
    while at + 4 <= len(options):
        option, size = struct.unpack_from("<HH", options, at)
        if option == 9 and size == 1:
            code = options[at + 4]
        at += 4 + -(-size // 4) * 4
    return 10**9, 2 ** (code & 0x7F) if code & 0x80 else 10**code


def packets(data: bytes) -> Iterator[Packet]:
    """Yield the packets of a pcapng file that have a time, in the file's order."""
    units: list[tuple[int, int]] = []
    for kind, body in blocks(data):
        if kind == numbers.PCAPNG_SECTION:
            if body[:4] != struct.pack("<I", numbers.PCAPNG_ORDER_MAGIC):
                raise NotPcapng("the section is not in little endian")
            units = []
        elif kind == numbers.PCAPNG_INTERFACE:
            units.append(_unit(body[8:]))
        elif kind == numbers.PCAPNG_RECORD:
            number, high, low, kept, original = struct.unpack_from("<5I", body)
            up, down = units[number]
            time = (high << 32 | low) * up // down % 2**64
            yield Packet(time, number, original, body[20 : 20 + kept])


def first_difference(wanted: list[Packet], found: list[Packet]) -> str | None:
    """Return a sentence about the first packet that did not come back as it was, or None."""
    for number, (before, after) in enumerate(zip(wanted, found), 1):
        for name in ("data", "original", "port", "time"):
            was, now = getattr(before, name), getattr(after, name)
            if was != now:
                return f"packet {number}: {_told(name, was, now)}"
    if len(wanted) != len(found):
        return f"{len(wanted)} packets went and {len(found)} came: packet {_missing(wanted, found)}"
    return None


def _missing(wanted: list[Packet], found: list[Packet]) -> str:
    count = min(len(wanted), len(found))
    return f"{count + 1} is {'missing' if len(wanted) > count else 'not of the file'}"


def _told(name: str, was: object, now: object) -> str:
    if not isinstance(was, bytes) or not isinstance(now, bytes):
        return f"its {name} was {was} and came back as {now}"
    if len(was) != len(now):
        return f"{len(was)} bytes of it went and {len(now)} came"
    at = next(i for i, pair in enumerate(zip(was, now)) if pair[0] != pair[1])
    return f"byte {at} of its {len(was)} was {was[at]:#04x} and came back as {now[at]:#04x}"


def play(board: BoardProcess, tool: Path, file: Path, target: Path, *options: str) -> dict:
    """Play `file` on the board, record what comes to `target`, and return the tool's report."""
    command = [tool, "play", "--json", "-d", f"sim:{board.socket}", *options]
    done = subprocess.run(
        [*command, "--keep-time", "--record", target, file],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if done.returncode == 2 or not done.stdout:
        raise TestFailed(f"lanebox-capture play: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    if done.returncode:
        raise TestFailed("; ".join(report["failures"]))
    return report


def rows(report: dict, data: bytes, at: Conditions, violations: int) -> list[Row]:
    """Return the benchmark rows of a played pcapng file: rate with limit, packets, and losses."""
    sizes = [len(packet.data) for packet in packets(data) if packet.data]
    lengths = [len(body) + 12 for _, body in blocks(data)]
    limit = limits.played(lengths, sizes, at.mps, at.mrrs, at.completion)
    measured = report["bytes_per_s"] is not None and limit is not None
    conditions = asdict(at)
    return [
        row("pcap/packets", report["packets"], "packets", conditions=conditions),
        row("pcap/bytes", report["bytes"], "bytes", conditions=conditions),
        row("pcap/lost", report["lost"], "packets", conditions=conditions),
        row(
            "pcap/rate",
            report["bytes_per_s"] / 1e9 if measured else None,
            "GB/s",
            limit if measured else None,
            violations=violations,
            reason=None if measured else "the file is too short for a rate",
            conditions=conditions,
        ),
    ]


def conditions(args: argparse.Namespace) -> Conditions:
    """Return the conditions that the options of `make sim` ask for.

    Raises ValueError for an option that a capture's way through the card cannot have.
    """
    names = ("shell", "board", "example", "memory0", "memory1", "msix", "virtio", "capture")
    for name in names:
        if getattr(args, name):
            raise ValueError(f"PCAP={args.pcap}: it takes no {name.upper()}")
    if args.endpoint != DEFAULT:
        raise ValueError(f"PCAP={args.pcap}: the endpoint {args.endpoint} has no capture block")
    return Conditions(
        mps=args.mps,
        mrrs=args.mrrs,
        rcb=args.rcb,
        seed=args.seed,
        read_latency_ns=args.read_latency,
        mmio_rtt_ns=args.mmio_rtt,
    )


def run(args: argparse.Namespace, options: list[str]) -> int:
    """Play the file of --pcap, compare what comes back, and print the table.

    `options` are further options of the board. Returns the exit status.
    """
    file, at = Path(args.pcap), conditions(args)
    if not file.is_file():
        raise ValueError(f"PCAP={file}: there is no such file")
    built = artefacts.build(at.endpoint, capture=True)
    tool = artefacts.capture_tool(built.headers)
    with (
        tempfile.TemporaryDirectory(prefix="lanebox-") as folder,
        BoardProcess(built.board, [*at.board_options(), *options]) as board,
    ):
        target = Path(folder) / "back.pcapng"
        report = play(board, tool, file, target)
        violations = sum(board.stats()["violations"].values())
        back = list(packets(target.read_bytes()))
    data = file.read_bytes()
    sent = [packet for packet in packets(data) if packet.data]
    (about,) = report["files"]
    print(table(rows(report, data, at, violations)))
    for key, words in (
        ("empty", "packets of no bytes, which are no frames"),
        ("left_out", "packets without a time, which the card does not play"),
    ):
        if about[key]:
            print(f"{about[key]} {words}")
    difference = first_difference(sent, back)
    if difference:
        raise TestFailed(f"{file}: {difference}")
    print(f"{file}: {len(sent)} packets came back as they were, with bytes, lengths, ports, times")
    return 0
