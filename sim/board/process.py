# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Starts a board process, sends it commands over its control socket, and always stops it."""

from __future__ import annotations

import contextlib
import json
import select
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from sim.errors import BoardFailed
from tools.progress import tied

START_SECONDS = 10
STOP_SECONDS = 10
TAIL_LINES = 15


class BoardProcess:
    """A running board process: `with BoardProcess(executable, ["--mps", "256"]) as board:`.

    Inside the block a vfio-user client can connect to the socket `board.socket`. Sockets and log
    are in a temporary directory with a short name, since a socket's path may have no more than 107
    characters. `under` has the words of a tool that runs the board, such as valgrind. `patience` is
    how many seconds the board may take to start, and to answer a command.
    """

    def __init__(self, executable: Path, options: list[str] | None = None):
        self.executable = executable
        self.options = options or []
        self.under: list[str] = []
        self.patience: float = START_SECONDS

    def __enter__(self) -> BoardProcess:
        with contextlib.ExitStack() as begun:
            self.directory = Path(tempfile.mkdtemp(prefix="lanebox-"))
            begun.callback(shutil.rmtree, self.directory, ignore_errors=True)
            self.socket = self.directory / "board.sock"
            self.control = self.directory / "control.sock"
            self.log = self.directory / "board.log"
            self._channel = socket.socket(socket.AF_UNIX)
            self._channel.settimeout(self.patience)
            self._lines = self._channel.makefile("rw")
            # Called behind _stop(): a board whose client hangs up would log that.
            begun.callback(self._hang_up)
            sockets = ["--socket", self.socket, "--control", self.control]
            with self.log.open("wb") as log:
                self.process = subprocess.Popen(
                    tied([*self.under, self.executable, *sockets, *self.options]),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                )
            begun.callback(self._stop)
            self._wait_until_listening()
            self._channel.connect(str(self.control))
            self._begun = begun.pop_all()
        return self

    def _wait_until_listening(self) -> None:
        ready, _, _ = select.select([self.process.stdout], [], [], self.patience)
        line = self.process.stdout.readline() if ready else b""
        if b"listening" not in line:
            raise BoardFailed(f"the board did not start\n{self.tail()}")

    @property
    def channel(self) -> socket.socket:
        """Return the connection to the board's control socket.

        A program that this process starts may give commands on it, as long as this process gives
        none.
        """
        return self._channel

    def command(self, line: str) -> dict:
        """Send one command to the board's control socket and return the JSON answer.

        Raises BoardFailed if the board refuses the command, does not answer or has ended.
        """
        try:
            self._lines.write(line + "\n")
            self._lines.flush()
            answer = json.loads(self._lines.readline())
        except TimeoutError as error:
            raise BoardFailed(f"the board did not answer `{line}`\n{self.tail()}") from error
        except (OSError, ValueError) as error:
            with contextlib.suppress(subprocess.TimeoutExpired):
                # The board that ends has this time to write the reason to its log.
                self.process.wait(STOP_SECONDS)
            raise BoardFailed(f"the board left while asked to `{line}`\n{self.tail()}") from error
        if "error" in answer:
            raise BoardFailed(f"the board refused `{line}`: {answer['error']}")
        return answer

    def stats(self) -> dict:
        """Return the board's counters, device cycles and CPU time since its last `clear`."""
        return self.command("stats")

    def gone(self) -> str | None:
        """Return None while the board's process runs, after that a sentence on how it ended."""
        status = self.process.poll()
        return None if status is None else f"the board ended with status {status}"

    def cpu_seconds(self) -> float:
        """Return the CPU time in seconds that the board process has used since it started."""
        fields = Path(f"/proc/{self.process.pid}/schedstat").read_text().split()
        return int(fields[0]) / 1e9

    def resident_bytes(self) -> int:
        """Return the largest resident memory, in bytes, that the board process has had so far."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
        return 0

    def tail(self) -> str:
        """Return the last 15 lines of the board's log, with a heading, for an error message."""
        lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        return "\n".join(["last lines of the board's log:", *lines])

    def _hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._lines.close()  # A command that the board did not take is lost here.
        self._channel.close()

    def _stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if self.process.poll() is None:
            self.process.kill()
        self.status = self.process.wait()
        self.process.stdout.close()

    def __exit__(self, *_) -> None:
        self._begun.close()
