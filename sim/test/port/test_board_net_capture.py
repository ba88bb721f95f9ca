# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A whole card records the frames of its own net device, and the net device does not notice it.

A driver without a guest sends frames of UDP, which the far side (port.Echo) sends back. The capture
block records both directions. The records are compared with the driver's frames byte by byte.
"""

import random
import struct
from pathlib import Path

import pytest

from gateware import numbers
from sim.test.board.board_builds import build_executable, build_gateware, register_map
from sim.test.board.board_client import HIGH_MEMORY, wait_until
from sim.test.card.test_board_capture import CLEAR, IDLE, LOSSLESS, RUN, Recorder
from sim.test.conftest import started_boards
from sim.test.port.net_driver import NetDriver
from tools.testing.seeds import SHIFT

BUILD = dict(capture=True, virtio=True)
RECEIVED, SENT = numbers.PCAPNG_INBOUND, numbers.PCAPNG_OUTBOUND
SEGMENTS = 8  # of the capture ring: 512 KiB
RING = HIGH_MEMORY + (1 << 30)  # The driver's queues begin at HIGH_MEMORY.
TOGETHER = 8  # frames that are under way at a time


@pytest.fixture
def start_net(tmp_path):
    """Return a function that starts boards, as the fixture start_board does, with gateware that has
    a net device and the capture block."""
    yield from started_boards(build_executable(**BUILD), register_map(**BUILD), tmp_path)


def udp(payload):
    """Return an Ethernet frame with a UDP datagram, which the echo sends back. Its checksums are
    0, which the echo neither checks nor uses."""
    datagram = struct.pack(">4H", 7, 7, 8 + len(payload), 0) + payload
    address = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(datagram), 1, 0, 64, 17, 0) + b"".join(address)
    frame = (
        numbers.ECHO_MAC.to_bytes(6, "big")
        + bytes([2, 0, 0, 0, 0, 1])
        + b"\x08\x00"
        + ip
        + datagram
    )
    return frame.ljust(60, b"\0")


def records(blocks):
    """Return [(time in ns, port, length, flags, data), ...] of the frames in pcapng blocks."""
    at, found = 0, []
    while at < len(blocks):
        kind, length = struct.unpack_from("<2I", blocks, at)
        if kind == numbers.PCAPNG_RECORD:
            port, high, low, kept, original = struct.unpack_from("<5I", blocks, at + 8)
            options = at + 28 + (kept + 3) // 4 * 4
            code, size, flags = struct.unpack_from("<2HI", blocks, options)
            assert (code, size) == (numbers.PCAPNG_FLAGS, 4) and options + 12 <= at + length
            data = bytes(blocks[at + 28 : at + 28 + kept])
            found.append((high << 32 | low, port, original, flags, data))
        at += length
    return found


def exchange(net, source, count):
    """Send frames and wait for their echoes. Returns (frames sent, frames received)."""
    sent, received = [], []
    for _ in range(count // TOGETHER):
        some = [udp(source.randbytes(source.randint(0, 1400))) for _ in range(TOGETHER)]
        for frame in some:
            net.send(frame)
        sent += some
        received += net.receive(len(some))
    return sent, received


def begin(recorder):
    recorder.card.write("capture_control", CLEAR)
    wait_until(lambda: recorder.flags(IDLE), "the clearing of the accounts")
    recorder.taken.clear()
    recorder.allow(recorder.size)
    recorder.card.write("capture_control", RUN)


def end(recorder):
    recorder.card.write("capture_control", 0)
    recorder.end()
    return records(recorder.taken)


def test_both_directions_are_recorded(start_net):
    """Each frame is recorded once, with its direction, and in the order of its direction. Times
    grow from a frame to its echo. Without the copies nothing is recorded."""
    source = random.Random(SHIFT)
    with start_net("--stall", 10, "--seed", SHIFT + 1) as board:
        card = board.card()
        net, recorder = NetDriver(card), Recorder(card, SEGMENTS, RING)
        begin(recorder)
        exchange(net, source, TOGETHER)
        assert end(recorder) == []
        begin(recorder)
        card.write("capture_net_control", 1)
        sent, received = exchange(net, source, 20 * TOGETHER)
        found = end(recorder)
        card.write("capture_net_control", 0)
        assert card.read("capture_net_lost") == 0
        for way, frames in ((SENT, sent), (RECEIVED, received)):
            assert [data for *_, flags, data in found if flags == way] == frames
        assert {(port, original == len(data)) for _, port, original, _, data in found} == {
            (numbers.CAPTURE_NET_PORT, True)
        }
        times = {way: [time for time, *_, flags, _ in found if flags == way] for way in (1, 2)}
        assert all(left < right for left, right in zip(times[SENT], times[RECEIVED]))
        assert recorder.line()[1] == len(found) == 2 * len(sent)
        net.close()


def test_a_recording_that_waits_does_not_hold_the_net_device_up(start_net):
    """A lossless capture whose ring is full takes no frame, so copies fill their stores. The net
    device goes on. What was not copied is counted, and the rest is recorded."""
    source = random.Random(SHIFT)
    with start_net() as board:
        card = board.card()
        net, recorder = NetDriver(card), Recorder(card, SEGMENTS, RING)
        begin(recorder)
        card.write("capture_control", RUN | LOSSLESS)
        recorder.allow(0)
        card.write("capture_net_control", 1)
        # The limit of the whole ring counts already, so more than the ring is sent.
        sent, received = exchange(net, source, 120 * TOGETHER)
        lost = card.read("capture_net_lost")
        assert lost > 0
        recorder.take()
        recorder.allow(1 << 40)
        wait_until(lambda: recorder.line()[1] + lost == 2 * len(sent), "the copies that were kept")
        assert card.read("capture_net_lost") == lost
        card.write("capture_net_control", 0)
        recorder.take()
        found = end(recorder)
        assert len(found) + lost == len(sent) + len(received)
        for way, frames in ((SENT, sent), (RECEIVED, received)):
            rest = iter(frames)
            assert all(data in rest for *_, flags, data in found if flags == way)
        net.close()


def test_a_build_without_a_net_device_has_no_copies():
    """A card with the capture block alone has neither the registers nor the logic."""
    assert "capture_net" not in register_map(capture=True)["csr_bases"]
    sources = (build_gateware(capture=True) / "gateware" / "sources.txt").read_text().split()
    (unit,) = (Path(source) for source in sources if "CaptureUnit" in source)
    assert "FrameCopy" not in unit.read_text()
