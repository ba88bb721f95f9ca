# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The capture block on a whole card: the frames of its generator arrive in a ring in host memory as
pcapng.

The host sets the ring up and follows the status line, in which the card reports how far the ring is
filled. The bytes of the ring behind a page of header are a pcapng file, which Wireshark's programs
read. Bytes, times, ports, lengths and drop counts of all packets are compared with a model of the
generator.
"""

import re
import struct
from dataclasses import dataclass

import pytest

from gateware import numbers
from gateware.capture.vocabulary import bits
from gateware.test.capture.test_capture_file import by_bytes, by_fields, header, run
from sim.test.board.board_builds import build_executable, build_gateware, register_map
from sim.test.board.board_client import HIGH_MEMORY, wait_until
from sim.test.conftest import started_boards
from tools.testing.seeds import SHIFT

# The capture ring in host memory consists of segments of this many bytes, with gaps between them.
SEGMENT = 1 << 16
# The capture ring is divided into MBUFs of this many bytes. No record of a packet crosses their
# end.
MBUF = 1 << 14
STATUS_AT = 32 * 3  # where the capture block writes its status line, in the ring's memory
# bits of the capture block's register capture_control
RUN, LOSSLESS, CLEAR = (bits.mask(bits.CONTROL, name) for name in ("run", "lossless", "clear"))
# bits of the capture block's register capture_status
IDLE, ACCOUNTS_BUSY, GENERATOR_IDLE = (
    bits.mask(bits.STATUS, name) for name in ("idle", "accounts_busy", "generator_idle")
)
# bit of the capture block's register capture_account_control
SNAPSHOT = bits.mask(bits.ACCOUNT_CONTROL, "snapshot")
# What became of a frame. The capture block's accounts count frames in these four classes.
DELIVERED, BAD, LOST_RING, LOST_NO_CELL = range(4)
PORT_MASK = 3  # The card's frame generator gives frame n to port n & PORT_MASK.
PORTS = PORT_MASK + 1
ONES = 0xFFFF_FFFF


@pytest.fixture
def start_capture(tmp_path):
    """Return a function that starts boards, as the fixture start_board does, with gateware that has
    the capture block."""
    yield from started_boards(build_executable(capture=True), register_map(capture=True), tmp_path)


@dataclass(frozen=True)
class Generated:
    """The settings of the capture block's generator, and a model of its frames. `size` is in bytes;
    `period`, from one frame to the next, is in 1/256 of a cycle."""

    size: int
    period: int
    count: int
    seed: int = 0x1234_5678 + SHIFT

    def data(self, number):
        """Return the bytes of frame `number`, as the card's frame generator makes them."""
        word, out = (self.seed ^ number) & ONES, bytearray()
        for _ in range(-(-self.size // 32)):
            turned = [(word << 4 * i | word >> 32 - 4 * i) & ONES for i in range(8)]
            out += struct.pack("<8I", *turned)
            word ^= word << 13 & ONES
            word ^= word >> 17
            word ^= word << 5 & ONES
        port = number & PORT_MASK
        head = bytes([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, port, 0x88, 0xB5, 0, 0])
        out[:24] = head + struct.pack("<II", number, self.seed)
        return bytes(out[: self.size])

    def starts(self):
        """Return a list with the cycle in which each frame begins, counted from the first frame's,
        if nothing makes the generator wait."""
        beats, most = -(-self.size // 32), self.period + (1024 << 8)
        cycle, owed, due, free, found = 0, 0, False, 0, []
        while len(found) < self.count:
            begins, due = due and cycle >= free, owed >= self.period
            if begins:
                found.append(cycle)
                # the card's generator leaves one idle cycle between two frames
                free = cycle + beats + 1
                owed += 256 - self.period
            elif owed < most:
                owed += 256
            cycle += 1
        return [start - found[0] for start in found]


class Recorder:
    """The host's side of a recording. It sets the ring up, follows the status line, and copies the
    bytes of the ring in order into `taken`. Its memory begins at the bus address `base`."""

    def __init__(self, card, segments, base=HIGH_MEMORY):
        self.card, self.size = card, segments * SEGMENT
        self.status = card.memory(base, 4096)
        # Each segment has a page of memory in front of it and one behind it, which the card must
        # not write.
        places = [base + (n + 1) * 4 * SEGMENT for n in range(segments)][::-1]
        self.segments = [card.memory(place - 4096, SEGMENT + 8192) for place in places]
        self.taken = bytearray()
        for n, place in enumerate(places):
            card.write64("capture_segment_base", place)
            card.write("capture_segment_index", n)
        card.write("capture_last_segment", segments - 1)
        card.write("capture_segment_log2", SEGMENT.bit_length() - 1)
        card.write("capture_mbuf_log2", MBUF.bit_length() - 1)
        card.write64("capture_status_base", base + STATUS_AT)
        card.write("capture_control", CLEAR)
        wait_until(lambda: self.flags(IDLE | ACCOUNTS_BUSY) == IDLE, "the clearing of the accounts")

    def flags(self, which):
        return self.card.read("capture_status") & which

    def line(self):
        """Return (position in bytes, records, lost frames, time) from the capture block's status
        line in host memory."""
        return struct.unpack("<4Q", self.status.data[STATUS_AT : STATUS_AT + 32])

    def start(self, frames, flags=0):
        card = self.card
        for name in ("size", "period", "count", "seed"):
            card.write(f"capture_generator_{name}", getattr(frames, name))
        card.write("capture_generator_port_mask", PORT_MASK)
        card.write("capture_control", RUN | flags)
        card.write("capture_generator_control", 1)

    def made(self, count):
        ended = self.card.read("capture_generator_made") >= count
        return ended and bool(self.flags(GENERATOR_IDLE))

    def stop(self, flags=0):
        self.card.write("capture_generator_control", 0)
        self.card.write("capture_control", flags)

    def take(self):
        """Copy the bytes of the ring that the status line reports as written and that have not been
        copied yet."""
        position = self.line()[0]
        assert position - len(self.taken) <= self.size, "the ring was written over"
        while len(self.taken) < position:
            at = len(self.taken) % self.size
            offset = at % SEGMENT
            size = min(position - len(self.taken), SEGMENT - offset)
            part = self.segments[at // SEGMENT].data
            self.taken += part[4096 + offset : 4096 + offset + size]

    def allow(self, limit):
        self.card.write64("capture_limit", limit)

    def end(self):
        """Wait until the capture block is idle, and copy what is left. Fail if the card has written
        to the pages around a segment."""
        wait_until(lambda: self.flags(IDLE), "the end of the capture")
        position = self.card.read("capture_position")
        wait_until(lambda: self.line()[0] == position, f"the status line of {position}")
        self.take()
        assert position % MBUF == 0
        for memory in self.segments:
            assert memory.data[:4096] == memory.data[-4096:] == bytes(4096)

    def accounts(self, port):
        """Return [(frames, bytes), ...] of a port from the last snapshot of the accounts, one pair
        for each fate of a frame."""
        found = []
        for fate in range(4):
            self.card.write("capture_account_control", port * 4 + fate)
            names = "capture_account_frames", "capture_account_bytes"
            found.append(tuple(map(self.card.read, names)))
        return found

    def snapshot(self):
        self.card.write("capture_account_control", SNAPSHOT)
        wait_until(lambda: not self.flags(ACCOUNTS_BUSY), "the snapshot")


def packets(recorder, tmp_path):
    """Return [(time in ns, port, length, drops, data), ...] of all packets of the recording, as
    tshark reads them from the pcapng file."""
    file = tmp_path / "ring.pcapng"
    file.write_bytes(header() + recorder.taken)
    fields = list(by_fields(file))
    bodies = list(by_bytes(file, tmp_path / "ring.pcap"))
    text = run("capinfos", "-c", "-o", "-M", file).decode()
    assert re.search(rf"Number of packets:\s+{len(fields)}\b", text), text
    assert re.search(r"Strict time order:\s+True", text), text
    assert len(bodies) == len(fields)
    found = []
    for (time, port, length, drops, flags), (data, ns, original) in zip(fields, bodies):
        assert (flags, ns, original) == (0, time % 10**9, length)
        found.append((time, port, length, drops, data))
    return found


def check(recorder, frames, found):
    """Compare the packets `found` with the generator's `frames`. Returns the number of the frame of
    each packet.

    Every frame must have been delivered or lost. The accounts, the status line and the packets'
    drop counts must agree about which.
    """
    delivered = [int.from_bytes(data[16:20], "little") for *_, data in found]
    assert delivered == sorted(set(delivered)) and delivered[-1] < frames.count
    # {port: number of its frames up to the last one that was delivered}
    seen = dict.fromkeys(range(PORTS), 0)
    for number, (_, port, length, drops, data) in zip(delivered, found):
        assert (port, length) == (number & PORT_MASK, frames.size)
        assert data == frames.data(number), f"frame {number}"
        assert drops == number // PORTS - seen[port], f"drop count of frame {number}"
        seen[port] = number // PORTS + 1
    recorder.snapshot()
    lost = 0
    for port in range(PORTS):
        accounts = recorder.accounts(port)
        made = len(range(port, frames.count, PORTS))
        there = sum(number & PORT_MASK == port for number in delivered)
        assert accounts[DELIVERED] == (there, there * frames.size)
        assert accounts[BAD] == (0, 0)
        assert [sum(column) for column in zip(*accounts)] == [made, made * frames.size]
        lost += made - there
    # The last status line was written with the last records. So it does not count frames that were
    # lost after them.
    _, records, told, _ = recorder.line()
    assert records == len(delivered)
    assert sum(drops for _, _, _, drops, _ in found) <= told <= lost
    return delivered


@pytest.mark.parametrize("size, period", [(64, 3000), (69, 3100), (1518, 20000)])
@pytest.mark.parametrize("mps", [128, 256, 512])
def test_a_recording_has_every_frame_at_its_time(start_capture, tmp_path, size, period, mps):
    """If the ring has room for all frames, each frame is recorded, with the time at which the
    generator began it."""
    frames = Generated(size, period, count=500)
    with start_capture() as board:
        card = board.card(mps=mps)
        recorder = Recorder(card, segments=16)
        recorder.allow(recorder.size)
        before = card.device_time()
        recorder.start(frames)
        wait_until(lambda: recorder.made(frames.count), "all frames")
        recorder.stop()
        recorder.end()
        after = card.device_time()
        found = packets(recorder, tmp_path)
        assert check(recorder, frames, found) == list(range(frames.count))
        assert board.stats()["unmapped"] == 0
    times = [time for time, *_ in found]
    assert before * numbers.TICK_NS < times[0] and times[-1] < after * numbers.TICK_NS
    starts = [start * numbers.TICK_NS for start in frames.starts()]
    assert [time - times[0] for time in times] == starts


@pytest.mark.parametrize("size", [64, 69, 1518])
def test_lossless_frames_wait_for_a_slow_host(start_capture, tmp_path, size):
    """With the flag `lossless`, a recording that is larger than the ring loses no frame: the
    generator waits until the host has raised the limit."""
    count = 3 * 4 * SEGMENT // size
    frames = Generated(size, 0, count)
    with start_capture("--stall", 20, "--seed", SHIFT + 1) as board:
        recorder = Recorder(board.card(), segments=2)

        def follow():
            recorder.take()
            recorder.allow(len(recorder.taken) // MBUF * MBUF + recorder.size)
            return recorder.made(count)

        recorder.start(frames, LOSSLESS)
        wait_until(follow, "all frames")
        recorder.stop(LOSSLESS)

        def ended():
            follow()
            return recorder.flags(IDLE)

        wait_until(ended, "the end of the capture")
        recorder.end()
        assert len(recorder.taken) > 2 * recorder.size
        found = packets(recorder, tmp_path)
        assert check(recorder, frames, found) == list(range(count))
        assert board.stats()["unmapped"] == 0
    times = [time for time, *_ in found]
    least = (-(-size // 32) + 1) * numbers.TICK_NS
    assert all(later - time >= least for time, later in zip(times, times[1:]))


@pytest.mark.parametrize("size, period", [(64, 3000), (69, 3100), (1518, 20000)])
def test_frames_beyond_the_limit_are_lost_and_counted(start_capture, tmp_path, size, period):
    """While the host does not raise the limit, frames are lost. After the gap the first packet of
    each port says how many frames of its port are missing, and the accounts agree."""
    half = 2 * SEGMENT
    frames = Generated(size, period, count=6 * half // size)
    with start_capture() as board:
        recorder = Recorder(board.card(), segments=4)
        recorder.allow(half)
        recorder.start(frames)
        wait_until(lambda: recorder.card.read("capture_generator_made") > 3 * half // size, "loss")
        recorder.allow(2 * half)
        # The card ignores a capture_limit (the byte position up to which it may write) below the
        # last one.
        recorder.allow(half)
        wait_until(lambda: recorder.made(frames.count), "all frames")
        recorder.stop()
        recorder.end()
        found = packets(recorder, tmp_path)
        delivered = check(recorder, frames, found)
        assert 2 * half - MBUF <= len(recorder.taken) <= 2 * half
        assert board.stats()["unmapped"] == 0
    assert len(delivered) < frames.count and any(drops for _, _, _, drops, _ in found)
    starts = [start * numbers.TICK_NS for start in frames.starts()]
    first = found[0][0] - starts[delivered[0]]
    assert [time for time, *_ in found] == [first + starts[number] for number in delivered]


def test_a_build_without_capture_has_nothing_of_it():
    """In a build without --capture neither the Verilog nor the register map names the capture
    block."""
    build = build_gateware()
    assert "capture" not in (build / "csr.json").read_text().lower()
    assert "CaptureUnit" not in (build / "gateware" / "sources.txt").read_text()
    assert "capture" not in (build / "gateware" / "lanebox.v").read_text().lower()
