# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A board under test: it must end as the test says, and break only the rules that it names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from board_client import Card, wait_until
from tlp_log import TlpLog
from vfio_client import VfioClient

from sim.board.process import STOP_SECONDS, BoardProcess

# What the stock endpoint does in nearly every read, and only costs it speed.
TOLERATED = {"rc-backpressure"}


class WatchedBoard(BoardProcess):
    """`with start_board("--mps", "256") as board:`

    `status` is the exit status that the board must end with, `violations` the names of the rules
    that must have been broken and no others but TOLERATED (None: the test looks for itself).
    After the end `output` holds what it wrote on stderr.
    """

    def __init__(self, executable, csr, options, log_path, status=0, violations=()):
        self.tlp_log_path = log_path
        super().__init__(
            executable, [*options, "--tlp-log", str(log_path)] if log_path else options
        )
        self.csr = csr
        self.expected_status = status
        self.expected_violations = violations
        self.violations = {}
        self.output = ""
        self._clients = []

    def connect(self, **options) -> VfioClient:
        """A bare vfio-user connection, closed with the board."""
        client = VfioClient(self.socket, **options)
        self._clients.append(client)
        return client

    def card(self, memory_of=None, **options) -> Card:
        """A connection with the card enumerated; `options` are those of Card.enumerate."""
        card = Card(self.socket, self.csr, memory_of)
        self._clients.append(card)
        return card.enumerate(**options)

    def command(self, line):
        if line == "clear":
            self._note_violations()
        return super().command(line)

    def set(self, name, value):
        return self.command(f"set {name} {value}")

    def let_pass(self, cycles):
        """Wait for so much device time, or until it stands still: then nothing more happens."""
        end = self.stats()["cycles"] + cycles
        wait_until(lambda: self.has_passed(end), f"{cycles} cycles, or none any more")

    def has_passed(self, cycle):
        """It is later than that, or device time stands still."""
        before = self.stats()["cycles"]
        return before > cycle or all(self.stats()["cycles"] == before for _ in range(20))

    def _note_violations(self):
        for rule, count in super().command("stats")["violations"].items():
            self.violations[rule] = self.violations.get(rule, 0) + count

    def wait(self, seconds=STOP_SECONDS) -> int:
        """Wait for a board that ends by itself; returns its status."""
        status = self.process.wait(seconds)
        self.output = self.log.read_text(errors="replace")
        return status

    def tlps(self) -> TlpLog:
        """What passed the pins; only after the board's end, when the log is complete."""
        assert self.process.poll() is not None, "the board still writes its TLP log"
        return TlpLog(self.tlp_log_path)

    def __exit__(self, kind=None, error=None, trace=None):
        try:
            if kind is None and self.process.poll() is None:
                self._note_violations()
        finally:
            self._end()
        if kind is not None:
            print(self.output, file=sys.stderr)
            return
        assert self.status == self.expected_status, (
            f"the board ended with {self.status}, not {self.expected_status}:\n{self.output}"
        )
        if self.status == 0 and self.expected_violations is not None:
            expected = set(self.expected_violations)
            assert set(self.violations) - (TOLERATED - expected) == expected, self.output

    def _end(self):
        for client in self._clients:
            client.close()
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.output = self.log.read_text(errors="replace")
        super().__exit__()


def run_board(executable: Path, *options, seconds=30):
    """Run a board that is expected to end at once; returns status, stdout and stderr."""
    result = subprocess.run(
        [executable, *map(str, options)],
        capture_output=True,
        text=True,
        timeout=seconds,
        stdin=subprocess.DEVNULL,
    )
    return result.returncode, result.stdout, result.stderr
