# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `capture/both/*` and `capture/played/*`: frames are played and recorded at the same time.

The host has a pcapng stream in its memory. The card reads it through h2c, its player makes frames
of it, and the capture block writes their records to a ring. So the link carries every frame once in
each direction.

In `capture/both/*` the frames leave the player at the line rate of four ports of 10G, and the value
is the number of lost ones. In `capture/played/*` they leave as fast as they can, and wait where
they would be lost. The value is the rate of their bytes, from the first frame's begin to the last
one's end in the player.

The card reads the stream without the host's help: all descriptors are in its table before it
starts, in a cycle that is known before. So no row depends on the machine's speed.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from gateware import numbers
from gateware.capture.vocabulary import bits
from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.capture.line import FCS, GAP, LINE, PREAMBLE, RING_LOG2, limit_of, line_kind, loss_row
from sim.rows.capture.ring import DEVICE_NS, LOSSLESS, PORTS, SECONDS, Ring, Traffic
from sim.rows.measure import Conditions
from sim.rows.peer import START, Bar
from sim.rows.results import Row, row
from sim.rows.streams import PREFIX

STREAM = 0x3_0000_0000  # Bus address of the pcapng stream in host memory.
PIECE = 1 << 23  # the bytes of the stream for each descriptor of h2c
SIZE = 64  # bytes on the line of a frame of `capture/both/*`, with FCS
SIZES = (64, 1518)  # bytes on the line of the frames of `capture/played/*`, with FCS
PLAYED_BYTES = 12 << 20  # bytes of the pcapng stream of a row `capture/played/*`
HEADER, TRAILER = 28, 4  # bytes of a pcapng packet block before its data and behind it
PACKET = 6  # the type of a pcapng packet block
FIRST_NS = 1_700_000_000 * 10**9  # the recorded time of the stream's first packet
GAP_NS = 17  # ns from the recorded time of a packet to that of the next
# Bits of the register player_control, and two values of its field `pace`.
RUN, KEEP_TIME = (bits.mask(bits.PLAYER_CONTROL, name) for name in ("run", "keep_time"))
FAST, AT_RATE = (bits.PACES.index(pace) << bits.PLAYER_CONTROL["pace"] for pace in ("fast", "rate"))


@dataclass(frozen=True)
class Packets:
    """The packets of a stream: `count` packets of `size` bytes without an FCS."""

    size: int
    count: int
    seed: int = 1

    @property
    def block(self) -> int:
        """Return the bytes of the pcapng block of one packet."""
        return HEADER + -(-self.size // 4) * 4 + TRAILER

    def data(self, first: int = 0, count: int | None = None) -> np.ndarray:
        """Return the bytes of `count` packets from number `first` on, one packet in each row.

        A packet begins with its number. The rest is a random pattern, turned by that number.
        """
        numbers_of = np.arange(first, first + (self.count if count is None else count))
        pattern = np.random.default_rng(self.seed).integers(0, 256, self.size + 251, np.uint8)
        turned = np.lib.stride_tricks.sliding_window_view(pattern, self.size)
        found = turned[numbers_of % 251].copy()
        found[:, :4] = numbers_of.astype("<u4").reshape(-1, 1).view(np.uint8)
        return found

    def heads(self, length: int, first: int = 0, count: int | None = None) -> np.ndarray:
        """Return an array with the header of each packet's pcapng block in a row: the seven dwords
        before the packet's data. A block has `length` bytes. The rows begin with packet `first`."""
        numbers_of = np.arange(first, first + (self.count if count is None else count))
        times = (FIRST_NS + GAP_NS * numbers_of).astype("<u8")
        words = np.empty((len(numbers_of), HEADER // 4), "<u4")
        words[:, 0], words[:, 1], words[:, 2] = PACKET, length, numbers_of % PORTS
        words[:, 3], words[:, 4] = times >> 32, times & 0xFFFF_FFFF
        words[:, 5:7] = self.size
        return words

    def blocks(self, length: int, first: int = 0, count: int | None = None) -> np.ndarray:
        """Return the packets as pcapng blocks of `length` bytes, one in each row."""
        heads = self.heads(length, first, count)
        found = np.zeros((len(heads), length), np.uint8)
        found[:, :HEADER] = heads.view(np.uint8)
        found[:, HEADER : HEADER + self.size] = self.data(first, count)
        found[:, -TRAILER:] = np.frombuffer(length.to_bytes(4, "little"), np.uint8)
        return found


def whole_beats(size: int, count: int) -> Packets:
    """Return packets whose pcapng blocks together fill whole beats of the stream: `count`, rounded
    down to a multiple of 32."""
    return Packets(size, count // limits.BEAT_BYTES * limits.BEAT_BYTES)


class Playing:
    """A card that plays packets of a pcapng stream and records them, with the recording's ring."""

    def __init__(self, bar: Bar, packets: Packets):
        self.bar, self.packets = bar, packets
        self.ring = Ring(bar, RING_LOG2)
        self._give_stream()

    def _give_stream(self) -> None:
        """Map the stream for the card, and write the descriptors of all of it to the table."""
        size = self.packets.block * self.packets.count
        fd = os.memfd_create("lanebox-played")
        room = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        os.ftruncate(fd, room)
        with mmap.mmap(fd, room) as memory:
            at = 0
            for first in range(0, self.packets.count, 1 << 14):
                count = min(1 << 14, self.packets.count - first)
                data = self.packets.blocks(self.packets.block, first, count).tobytes()
                memory[at : at + len(data)] = data
                at += len(data)
        self.bar.client.map(STREAM, room, fd)
        os.close(fd)
        prefix = PREFIX["h2c"]
        for name, value in (("enable", 0), ("table_reset", 1), ("table_loop_prog_n", 0)):
            self.bar.register(f"{prefix}_{name}", value)
        address = self.bar.csr["csr_registers"][f"{prefix}_table_value"]["addr"]
        for start in range(0, size, PIECE):
            length = min(PIECE, size - start) | numbers.DESCRIPTOR_IRQ_DISABLE
            for offset, word in ((0, length), (4, STREAM + start & 0xFFFF_FFFF)):
                self.bar.client.write(0, address + offset, word.to_bytes(4, "little"))
            self.bar.register(f"{prefix}_table_we", STREAM + start >> 32)

    def start(self, pace: int, limit: int, flags: int = 0) -> None:
        """Let the card record what it plays, and plan the stream's start for cycle START."""
        self.ring.take(limit, flags)
        fraction = 1 << numbers.PLAYER_FRACTION_BITS
        self.bar.register("player_rate", int(LINE / 8 * limits.CYCLE_NS * fraction))
        self.bar.register("player_cost", (FCS + PREAMBLE + GAP) | (SIZE - FCS) << 8)
        self.bar.register("player_control", KEEP_TIME | pace)
        self.bar.register("player_control", RUN | KEEP_TIME | pace)
        enable = self.bar.csr["csr_registers"][f"{PREFIX['h2c']}_enable"]["addr"]
        self.bar.board.command(f"at {START} write {enable:#x} 1")

    def finish(self, seconds: float = SECONDS) -> float:
        """Wait until the card's status line counts all packets, and stop the card. Returns how long
        the card played, in ns of device time.

        Meanwhile the host reads its own memory only, so it adds no TLP to the link.
        """
        deadline = time.monotonic() + seconds
        while sum(self.ring.line[1:3]) < self.packets.count:
            if time.monotonic() > deadline:
                _, records, lost, _ = self.ring.line
                raise TestFailed(
                    f"{records} of {self.packets.count} packets were recorded, {lost} lost"
                )
            time.sleep(0.01)
        self.ring.stop()
        self.bar.register("player_control", 0)
        error = self.bar.read_register("player_status") & 0xF
        if error:
            raise TestFailed(f"the player stopped with error {error}")
        return self.ring.read64("player_ended") - self.ring.read64("player_begun")


Look = Callable[[Ring, Packets], object]


def rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield the rows `capture/both/*`, frames that are played at line rate and recorded, and
    `capture/played/*`, frames that are played as fast as possible."""
    for mps in (256, 128):
        yield both(board, csr, replace(at, mps=mps))
    for size in SIZES:
        yield played(board, csr, at, size)


def both(
    board: Path,
    csr: Path,
    at: Conditions,
    ns: float = DEVICE_NS,
    look: Look = lambda ring, packets: None,
) -> Row:
    """Play frames at the line rate of four ports for `ns`, record them, and return their row.

    `look` is called with the ring and the packets when the recording has ended.
    """
    kind = line_kind(SIZE)
    packets = whole_beats(kind.size, int(ns * 256 / limits.CYCLE_NS / kind.period))
    frames = Traffic((kind,), packets.count)
    suffix = "" if at.mps == 256 else f"/mps{at.mps}"
    name = f"capture/both/4x10/{SIZE}{suffix}"
    with Bar(board, csr, at) as bar:
        playing = Playing(bar, packets)
        playing.start(AT_RATE, limit_of(frames))
        took = playing.finish(SECONDS * max(1, ns / DEVICE_NS))
        look(playing.ring, packets)
        found = loss_row(name, playing.ring, frames)
    line_mpps = LINE / 8 / (SIZE + PREAMBLE + GAP) * 1e3
    mpps = packets.count / took * 1e3
    if mpps < 0.999 * line_mpps:
        raise TestFailed(f"{name}: {mpps:.2f} of {line_mpps:.2f} million frames a second played")
    found.conditions |= {"traffic": "player", "mpps": mpps, "device_ms": took / 1e6}
    return found


def played(
    board: Path,
    csr: Path,
    at: Conditions,
    size: int,
    look: Look = lambda ring, packets: None,
) -> Row:
    """Play frames of `size` bytes as fast as they are recorded, and return the row of their rate.

    `size` is that on the line, with an FCS, which the stream does not have. `look` is as in both().
    """
    one = Packets(size - FCS, 1)
    packets = whole_beats(one.size, PLAYED_BYTES // one.block)
    with Bar(board, csr, at) as bar:
        playing = Playing(bar, packets)
        playing.start(FAST, 1 << RING_LOG2, LOSSLESS)
        took = playing.finish()
        look(playing.ring, packets)
        violations = sum(bar.board.stats()["violations"].values())
        lost = playing.ring.line[2]
    if lost:
        raise TestFailed(f"capture/played/{size}: {lost} frames were lost")
    blocks, sizes = [packets.block] * packets.count, [packets.size] * packets.count
    return row(
        f"capture/played/{size}",
        packets.size * packets.count / took,
        "GB/s",
        limits.played(blocks, sizes, at.mps, at.mrrs, at.completion),
        violations=violations,
        bytes=packets.size * packets.count,
        cycles=int(took / limits.CYCLE_NS),
        conditions={**asdict(at), "traffic": "player", "frames": packets.count},
    )
