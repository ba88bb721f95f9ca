# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The wire without a gateware, run by wire_probe.cpp. Frames take the time of the line and arrive
unchanged. If a peer breaks the framing, the board says which rule it broke."""

import contextlib
import random
import re
import socket
import struct
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest

from gateware.numbers import BEAT_BYTES, TICK_NS
from sim.board import build
from sim.test.model.probe_build import build_program
from sim.test.port.wire_ends import LONGEST, End, framed, line_cycles
from tools.testing.seeds import SHIFT

SOURCE = Path(__file__).with_name("wire_probe.cpp")
# Cycles that a run may take beside the line's time and the beats of a frame: 64 for the net device
# behind the last frame, and some because the wire polls the line once in a cycle.
BESIDE = 75
SECONDS = 60
MOST_MEMORY = 24  # the most MiB of memory that wire_probe may use


class Counts(NamedTuple):
    """The cycles and counters that wire_probe prints at its end."""

    cycles: int
    h2c: int
    c2h: int
    no_peer: int
    full: int
    too_long: int
    cut: int


@pytest.fixture(scope="module")
def program():
    folders = [build.BOARD / name for name in ("port", "vfio_user")]
    sources = [folders[0] / name for name in ("frame_socket.cpp", "wire.cpp")]
    sources += [SOURCE, folders[1] / "socket.cpp"]
    headers = [path for folder in folders for path in sorted(folder.glob("*.hpp"))]
    return build_program("wire_probe", sources, [*headers, build.numbers_header()])


class Run:
    """A running wire_probe, and the socket to it."""

    def __init__(self, process, end):
        self.process, self.end = process, end

    def memory(self):
        """Return the most memory that the probe has used by now in MiB; 0 if it has ended."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (most,) = re.findall(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE) or ("0",)
        return int(most) / 1024

    def finish(self):
        """Wait for the end of wire_probe. Return its counts and its stderr."""
        out, err = self.process.communicate(timeout=SECONDS)
        assert self.process.returncode == 0, err
        return Counts(*map(int, out.split())), err


@pytest.fixture
def probe(program, tmp_path):
    """Return a function that starts wire_probe with arguments: `probe(10, "serve")`."""
    with contextlib.ExitStack() as stack:

        def start(gigabits, *arguments):
            path = tmp_path / "wire"
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(path))
            listener.listen()
            listener.settimeout(SECONDS)
            process = subprocess.Popen(
                [program, path, str(gigabits), *map(str, arguments)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            end = End(listener.accept()[0], SECONDS)
            stack.callback(end.close)
            path.unlink()
            return Run(process, end)

        yield start


@pytest.mark.parametrize("size", [60, 64, 128, 576, 1514])
@pytest.mark.parametrize("gigabits", [10, 25, 40])
def test_frames_take_the_time_of_the_line(probe, gigabits, size):
    """200 frames in a row take as many cycles as the rate gives, in each direction: preamble, FCS
    and gap are counted."""
    count = 200
    expected = line_cycles(size, count, gigabits)
    run = probe(gigabits, "send", size, count)
    for n in range(count):
        assert run.end.receive() == bytes([n]) * size
    sent, _ = run.finish()
    run = probe(gigabits, "take", count)
    run.end.send(*(bytes(size) for _ in range(count)))
    taken, _ = run.finish()
    print(f"{gigabits}G {size}: {sent.cycles} h2c, {taken.cycles} c2h, {float(expected):.1f} due")
    assert sent.h2c == taken.c2h == count
    for cycles in (sent.cycles, taken.cycles):
        assert expected <= cycles <= expected + BESIDE + size / BEAT_BYTES


def test_ten_gigabits_are_14_88_million_frames_a_second():
    """By line_cycles(), a line of 10 Gbit/s carries 14.88 million frames of 64 bytes with FCS."""
    cycles = line_cycles(60, 2, 10) - line_cycles(60, 1, 10)
    assert round(Fraction(10**9, TICK_NS) / cycles) == 14_880_952


def test_a_short_frame_takes_the_time_of_a_padded_one(probe):
    """A frame of 42 bytes takes as long on the line as one of 60, and arrives with 42 bytes."""
    run = probe(10, "send", 42, 100)
    assert run.end.receive() == bytes(42)
    counts, _ = run.finish()
    assert line_cycles(60, 100, 10) <= counts.cycles <= line_cycles(60, 100, 10) + BESIDE


def test_frames_of_all_lengths_come_back_unchanged_and_in_order(probe):
    """Frames of 1 to 1522 bytes go through the wire in both directions unchanged and in order,
    although the socket passes them in pieces of random length."""
    print(f"seed {SHIFT}")
    source = random.Random(SHIFT)
    frames = [source.randbytes(size) for size in range(1, LONGEST + 1)]
    run = probe(40, "serve")
    rest, back = framed(*frames), []
    while rest:
        # At most a few frames are out, so that neither side waits for the other.
        size = source.choice((1, 3, 5, 1000, 20000))
        run.end.connection.sendall(rest[:size])
        rest = rest[size:]
        run.end.connection.settimeout(0.001)
        with contextlib.suppress(TimeoutError):
            while True:
                back.append(run.end.receive())
    run.end.connection.settimeout(SECONDS)
    while len(back) < len(frames):
        back.append(run.end.receive())
    assert back == frames
    run.end.close()
    counts, _ = run.finish()
    assert counts[1:] == (len(frames), len(frames), 0, 0, 0, 0)


@pytest.mark.parametrize("size", [0, 69633, 0x8000_0000, 0xFFFF_FFFF])
def test_a_length_that_no_frame_has_closes_the_connection(probe, size):
    """Frames before an impossible length reach the card. The board's message names the length and
    the lengths that are allowed, and the connection is closed."""
    run = probe(10, "serve")
    run.end.connection.sendall(framed(b"before") + struct.pack(">I", size) + b"rest")
    assert run.end.receive() in (b"before", None)
    counts, said = run.finish()
    assert f"the length {size}, which QEMU's framing does not allow (1 to 69632)" in said
    assert counts.c2h == 1


def test_a_frame_beyond_the_mtu_is_lost_and_counted(probe):
    """A frame of more than 1522 bytes is dropped, and the board warns once. The frames before and
    after it reach the card."""
    run = probe(10, "serve")
    run.end.send(b"one", bytes(LONGEST + 1), b"two", bytes(65000), b"three")
    assert [run.end.receive() for _ in range(3)] == [b"one", b"two", b"three"]
    run.end.close()
    counts, said = run.finish()
    assert counts.too_long == 2 and said.count("lower the peer's MTU") == 1


@pytest.mark.parametrize("part", [1, 4, 9])
def test_a_peer_that_leaves_in_the_middle_of_a_frame_is_told_of(probe, part):
    """Complete frames of a peer that leaves reach the card; the incomplete one is counted in
    `cut`."""
    run = probe(10, "serve")
    run.end.send(b"whole")
    assert run.end.receive() == b"whole"
    run.end.connection.sendall(framed(b"a frame")[:part])
    run.end.close()
    counts, said = run.finish()
    assert "the peer left in the middle of a frame" in said
    assert (counts.c2h, counts.cut) == (1, 1)


def test_all_frames_of_a_peer_that_leaves_at_once_are_carried(probe):
    """If a peer sends more frames than the wire holds at a time and disconnects at once, the wire
    still carries all of them to the card."""
    count = 600
    run = probe(10, "serve")
    run.end.send(*(bytes([n & 255]) * 20 for n in range(count)))
    run.end.close()
    counts, said = run.finish()
    assert (counts.c2h, counts.cut, said) == (count, 0, "")
    assert counts.h2c == count


def test_a_peer_that_does_not_read_loses_frames_and_stops_nothing(probe):
    """More frames than the socket and the wire hold are sent to a peer that reads none. The rest is
    lost and counted; those that are kept are whole."""
    count = 8000
    run = probe(40, "send", 1514, count)
    run.process.wait(SECONDS)
    counts, _ = run.finish()
    assert counts.full > 0 and counts.h2c == count
    got = 0
    with contextlib.suppress(AssertionError):
        while run.end.receive() is not None:
            got += 1
    assert got >= 20


def test_a_peer_that_always_lags_costs_no_more_memory_with_time(probe):
    """A peer takes 30 MB, and is always a megabyte behind, which is more than the socket holds. The
    wire forgets what it has sent, and loses nothing.
    """
    block = framed(*[bytes(1514)] * 20)
    count, behind = 1000, 35
    run = probe(40, "serve")
    back = run.end.connection.makefile("rb")
    run.end.connection.sendall(block * behind)
    for n in range(count):
        if n < count - behind:
            run.end.connection.sendall(block)
        assert back.read(len(block)) == block
    most = run.memory()
    back.close()
    run.end.close()
    counts, _ = run.finish()
    print(f"{most:.1f} MiB")
    assert (counts.h2c, counts.full) == (20 * count, 0)
    assert 0 < most < MOST_MEMORY
