# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Builds and runs the program `line` on a board whose net device a VirtioDriver has made ready.

The program goes on with the driver's rings, of which it fills the one for frames to send. It gives
commands on the board's control socket and writes the doorbell on the driver's own connection.
Device time passes only while the program waits, and is held when the program ends.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from sim.board.build import BOARD, numbers_header
from sim.board.process import BoardProcess
from sim.board.program import build_program
from sim.clients.virtio import QUEUE_NOTIFY, RECEIVE, RINGS, TRANSMIT, VirtioDriver
from sim.errors import TestFailed

HERE = Path(__file__).resolve().parent
SECONDS = 600  # The program fails after this many seconds of wall time.


def build() -> Path:
    """Compile the program if its sources have changed. Return its path."""
    headers = [*HERE.glob("*.hpp"), *(BOARD / "vfio_user").glob("*.hpp")]
    headers += [numbers_header(), BOARD / "machine" / "json.hpp"]
    sources = [*sorted(HERE.glob("*.cpp")), BOARD / "vfio_user" / "socket.cpp"]
    return build_program("line", sources, sorted(headers))


def run(
    board: BoardProcess, driver: VirtioDriver, wire: Path, gigabits: int, frames: int, order: str
) -> dict:
    """Send `frames` frames in each direction, with the board's wire at the socket `wire`.

    The driver uses its chains in `order`: "turn" or "last" (driver.hpp). Returns the accounts of
    the program. Raises TestFailed if the program fails.
    """
    receive, transmit = driver.queues[RECEIVE], driver.queues[TRANSMIT]
    values = {
        "wire": wire,
        "gigabits": gigabits,
        "frames": frames,
        "order": order,
        "doorbell": driver.page + QUEUE_NOTIFY,
        "size": transmit.size,
        "used": receive.used - receive.base,
        "buffers": RINGS,
        "buffer-bytes": receive.buffer_bytes,
        "receive-address": receive.base,
        "receive-file": receive.file,
        "transmit-address": transmit.base,
        "transmit-file": transmit.file,
        "control": board.channel.fileno(),
        "client": driver.client.socket.fileno(),
    }
    files = [values[name] for name in ("receive-file", "transmit-file", "control", "client")]
    words = [str(word) for pair in values.items() for word in pair]
    with _waiting(board.channel), _waiting(driver.client.socket):
        try:
            done = subprocess.run(
                [build(), *words], pass_fds=files, capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            raise TestFailed(f"the program line has not ended within {SECONDS} s") from None
    if done.returncode:
        raise TestFailed(f"the program line failed: {done.stderr.strip()}\n{board.tail()}")
    return json.loads(done.stdout)


@contextlib.contextmanager
def _waiting(connection: socket.socket) -> Iterator[None]:
    """Let a read of this socket wait. A socket with a timeout would refuse a program's reads while
    it has no data."""
    timeout = connection.gettimeout()
    connection.settimeout(None)
    try:
        yield
    finally:
        connection.settimeout(timeout)
