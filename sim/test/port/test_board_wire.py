# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The net device's wire on whole cards: two boards are connected, frames are paced in device time,
and a socket that cannot be used is refused with a reason."""

import json
import random
import socket
import struct

import pytest

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.test.board.board_builds import build_executable
from sim.test.board.board_client import wait_until
from sim.test.board.board_process import run_board
from sim.test.conftest import started_boards
from sim.test.port.net_driver import NetDriver
from sim.test.port.wire_ends import LONGEST, End, framed, line_cycles
from sim.test.virtio.virtio_driver import DROPPED
from tools.testing.seeds import SHIFT

# Cycles of device time after the last frame of a run: its beats, 64 cycles in which the net device
# may notice it, and the end of the batch of cycles in which the board looks at its sockets.
BESIDE = 150
# The most frames that are under way. The net device has room for this many of the longest ones.
# More may be lost, since a line of 40G is faster than the device.
TOGETHER = 8
SECONDS = 60


@pytest.fixture(scope="module")
def built():
    return artefacts.build(DEFAULT, virtio=True, port="wire")


@pytest.fixture
def start_wired(built, tmp_path):
    """Return a function that starts boards, as the fixture start_board does, whose net device has
    the wire."""
    csr = json.loads((built.gateware / "csr.json").read_text())
    yield from started_boards(built.board, csr, tmp_path)


def settled(board):
    """Wait until no frame to the card waits in the board's wire any more. Return the wire's
    counters."""
    wait_until(lambda: not board.stats()["wire"]["c2h"]["waiting"], "the frames to arrive")
    return board.stats()["wire"]


def connected(board):
    return board.stats()["wire"]["peer"] == 1


def test_two_boards_exchange_frames_of_all_lengths(start_wired, tmp_path):
    """Frames of 60 to 1518 bytes go from each board to the other, in order and unchanged, with
    pauses of all lengths between them. The counters of both boards agree to the frame."""
    print(f"seed {SHIFT}")
    source = random.Random(SHIFT)
    path = tmp_path / "wire"
    sizes = list(range(60, 1519))
    source.shuffle(sizes)
    sizes = sizes[: len(sizes) // 2] if SHIFT % 2 else sizes[len(sizes) // 2 :]
    options = ("--seed", SHIFT + 1, "--stall", 10)
    with (
        start_wired(*options, "--wire", f"listen:{path}") as one,
        start_wired(*options, "--wire", f"connect:{path}", "--wire-rate", 40) as two,
    ):
        wait_until(lambda: connected(one), "the peer")
        ends = [NetDriver(board.card()) for board in (one, two)]
        assert all(end.link for end in ends)
        for at in range(0, len(sizes), TOGETHER):
            some = sizes[at : at + TOGETHER]
            sent = [[source.randbytes(size) for size in some] for _ in ends]
            for pair in zip(*sent):
                for end, frame in zip(ends, pair):
                    end.send(frame)
                if not source.randrange(4):
                    one.let_pass(source.randrange(3000))
            assert ends[1].receive(len(sent[0])) == sent[0]
            assert ends[0].receive(len(sent[1])) == sent[1]
        for board, end in ((one, ends[0]), (two, ends[1])):
            assert end.read(DROPPED) == 0
            wire = settled(board)
            assert wire["h2c"]["frames"] == wire["c2h"]["frames"] == len(sizes)
            assert wire["h2c"]["bytes"] == wire["c2h"]["bytes"] == sum(sizes)
            end.close()


@pytest.mark.parametrize("gigabits", [10, 25, 40])
def test_frames_to_the_card_take_the_time_of_the_line(start_wired, tmp_path, gigabits):
    """The card receives 200 frames of 64 bytes (with FCS) in the device time that a line of that
    rate needs for them. No driver runs, so the net device takes each frame at once. Before and
    after the frames device time stands still."""
    path, count = tmp_path / "wire", 200
    with start_wired("--wire", f"listen:{path}", "--wire-rate", gigabits) as board:
        end = End.called(path)
        wait_until(lambda: connected(board), "the peer")
        board.let_pass(10_000)
        before = board.stats()["cycles"]
        end.send(*(bytes(60) for _ in range(count)))
        wait_until(lambda: board.stats()["wire"]["c2h"]["frames"] == count, "the frames")
        board.let_pass(10_000)
        cycles = board.stats()["cycles"] - before
        end.close()
    expected = line_cycles(60, count, gigabits)
    print(f"{gigabits}G: {cycles} cycles, {float(expected):.1f} due")
    assert expected <= cycles <= expected + BESIDE


def test_a_silent_wire_costs_nothing(start_wired, tmp_path):
    """With a peer that sends nothing, device time stands still and the board sleeps."""
    path = tmp_path / "wire"
    with start_wired("--wire", f"listen:{path}") as board:
        end = End.called(path)
        wait_until(lambda: connected(board), "the peer")
        board.let_pass(10_000)
        before, used = board.stats()["cycles"], board.cpu_seconds()
        for _ in range(50):
            assert board.stats()["cycles"] == before
        assert board.cpu_seconds() - used < 0.5
        end.close()


def test_the_link_is_up_while_there_is_a_peer(start_wired, tmp_path):
    """The driver sees the link go up with a peer and down without one. Frames sent without a peer
    are counted as lost. A frame sent later reaches the peer. A second peer is refused."""
    path = tmp_path / "wire"
    with start_wired("--wire", f"listen:{path}") as board:
        driver = NetDriver(board.card())
        assert not driver.link
        driver.send(bytes(60))
        wait_until(lambda: board.stats()["wire"]["h2c"]["no_peer"] == 1, "the loss")
        end = End.called(path)
        wait_until(lambda: driver.link, "the link")
        second = End.called(path)
        assert second.receive() is None
        second.close()
        driver.send(b"x" * 60)
        assert end.receive() == b"x" * 60
        end.connection.sendall(framed(b"whole" * 12) + struct.pack(">I", 100) + b"part")
        assert driver.receive(1) == [b"whole" * 12]
        end.close()
        wait_until(lambda: not driver.link, "the link to go")
        assert board.stats()["wire"]["c2h"]["cut"] == 1
        again = End.called(path)
        wait_until(lambda: driver.link, "the link")
        again.send(b"y" * LONGEST)
        assert driver.receive(1) == [b"y" * LONGEST]
        again.close()
        driver.close()
    assert "a second peer called" in board.output and "in the middle of a frame" in board.output


def test_a_length_that_no_frame_has_is_told_of_and_the_board_goes_on(start_wired, tmp_path):
    """A frame of length 0 or 2 GiB on the wire's socket closes the connection with a sentence. The
    board goes on."""
    path = tmp_path / "wire"
    with start_wired("--wire", f"listen:{path}") as board:
        driver = NetDriver(board.card())
        for length in (0, 1 << 31):
            end = End.called(path)
            wait_until(lambda: driver.link, "the link")
            end.connection.sendall(struct.pack(">I", length) + bytes(200))
            wait_until(lambda: not connected(board), "the end of the connection")
            wait_until(lambda: not driver.link, "the link to go")
            end.close()
        driver.close()
    assert board.output.count("The connection is closed") == 2


@pytest.mark.parametrize(
    "prepare, wire, reason",
    [
        ("", "listen:{folder}/" + "x" * 120, "the kernel takes at most 107"),
        ("file", "listen:{folder}/wire", "exists and is no socket"),
        ("listener", "listen:{folder}/wire", "another board already listens on"),
        ("", "connect:{folder}/wire", "No such file or directory"),
        ("stale", "connect:{folder}/wire", "Connection refused"),
        ("", "listen:{folder}/none/wire", "No such file or directory"),
        ("", "{folder}/wire", "must be listen:PATH or connect:PATH"),
        ("", "listen:", "must be listen:PATH or connect:PATH"),
    ],
)
def test_a_socket_that_cannot_be_used_is_refused(built, tmp_path, prepare, wire, reason):
    """If the socket of --wire cannot be used, the board ends with a sentence that says why. A file
    that is at the socket's path stays."""
    place = tmp_path / "wire"
    other = socket.socket(socket.AF_UNIX)
    if prepare == "file":
        place.write_text("kept")
    elif prepare:
        other.bind(str(place))
    if prepare == "listener":
        other.listen()
    if prepare == "stale":
        other.close()
    before = sorted(path.name for path in tmp_path.iterdir())
    status, _, said = run_board(
        built.board, "--socket", tmp_path / "board", "--wire", wire.format(folder=tmp_path)
    )
    other.close()
    assert status in (1, 2) and reason in said, said
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_rate_that_no_line_has_is_refused(built, tmp_path):
    """--wire-rate takes 10, 25 and 40 Gbit/s, and refuses other rates with a sentence."""
    status, _, said = run_board(built.board, "--socket", tmp_path / "board", "--wire-rate", 100)
    assert status == 2 and "--wire-rate 100: must be one of 10, 25, 40" in said


def test_gateware_without_a_wire_refuses_the_option(tmp_path):
    """If the gateware has no wire, --wire is refused with a sentence that says how to build one."""
    path = tmp_path / "wire"
    status, _, said = run_board(
        build_executable(), "--socket", tmp_path / "board", "--wire", f"listen:{path}"
    )
    assert status == 2 and "this gateware has no wire" in said and "--port wire" in said
    assert not path.exists()
