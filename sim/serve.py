# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""make board: runs a board until Ctrl-C, for programs that the user starts.

Its socket is build/board.sock. Several clients may use the board one after the other. A second
client at the same time is refused with EBUSY."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from sim import artefacts
from sim.board.process import BoardProcess
from sim.errors import SimError, TestFailed

SOCKET = artefacts.BUILD / "board.sock"
# A link to the folder with the gateware of the running board.
GATEWARE = artefacts.BUILD / "board.gateware"
LOCK = artefacts.BUILD / "board.lock"
LOOK_SECONDS = 0.2


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Allow one `make board` at a time. The lock ends with its process, even if that is killed."""
    artefacts.BUILD.mkdir(exist_ok=True)
    with LOCK.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = f"{shown(SOCKET)} is another `make board`'s: end that one first"
            raise SimError(other) from None
        yield


def shown(path: Path) -> str:
    """Return the path as the user types it: relative if it lies below the current folder."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def hints(built: artefacts.Artefacts, util: Path) -> list[str]:
    """Return commands for the user to type in another terminal while the board runs.

    They are litepcie_util's `info` and `dump`, and a Python program: the client of the example, or
    software/examples/stream.py if the slot has no example. A card with the capture block gets a
    recording, too."""
    words = [shown(util), "-d", f"sim:{shown(SOCKET)}"]
    names = shown(built.gateware / "csr.json")
    lines = [shlex.join([*words, "info"]), shlex.join([*words, "dump", "--csr", names])]
    client = "software/examples/stream.py"
    if built.example is not None:
        client = getattr(built.example, "python_client", None)
    if client:
        lines.append(shlex.join([".venv/bin/python", "-m", "sim.util", "--running", str(client)]))
    if "capture" in json.loads((built.gateware / "csr.json").read_text())["csr_bases"]:
        tool = shown(artefacts.capture_tool(built.headers))
        generated = ["--generate", "64,1000,20000", shown(artefacts.BUILD / "frames.pcapng")]
        lines.append(shlex.join([tool, "record", "-d", f"sim:{shown(SOCKET)}", *generated]))
    return lines


@contextlib.contextmanager
def reachable(board: BoardProcess, gateware: Path) -> Iterator[None]:
    """Link the board's socket and gateware to fixed paths in build/ while the board runs.

    The board's own folder has a random name that a user could not know."""
    links = {SOCKET: board.socket, GATEWARE: gateware}
    try:
        for link, place in links.items():
            link.unlink(missing_ok=True)
            link.symlink_to(place)
        yield
    finally:
        for link in links:
            link.unlink(missing_ok=True)


def running() -> Path:
    """Return the folder of the gateware that the running board simulates.

    Raises SimError if `make board` is not running."""
    if not SOCKET.exists():
        raise SimError("no board runs: `make board` starts one, in another terminal")
    return GATEWARE.resolve()


def serve(board: BoardProcess, built: artefacts.Artefacts) -> int:
    """Run the board until Ctrl-C. Return the exit status 0.

    If the board ends by itself, raise TestFailed with the end of the board's log."""
    util = artefacts.utility(built.headers)
    with alone(), board, reachable(board, built.gateware):
        print(f"The board is at sim:{shown(SOCKET)}. In another terminal, for example:\n")
        print("\n".join(f"  {line}" for line in hints(built, util)))
        print("\nCtrl-C here ends it.", flush=True)
        try:
            while (gone := board.gone()) is None:
                time.sleep(LOOK_SECONDS)
        except KeyboardInterrupt:
            pass
        # The terminal sends Ctrl-C to the board process as well, which then ends with status 0.
        if board.process.poll():
            raise TestFailed(f"{gone}\n{board.tail()}")
        print("\nThe board has ended.", file=sys.stderr)
        return 0
