# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""WatchedBoard, a board that a test has started and that is checked when it ends.

When the board ends, it must have the exit status that the test expects. It must have broken the
rules of the hard block that the test expects, and no others.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sim.board.process import STOP_SECONDS, BoardProcess
from sim.clients.vfio import VfioClient
from sim.test.board.board_client import Card, wait_until
from sim.test.board.tlp_log import TlpLog

# The rules that LitePCIe's endpoint may break in any test. It drops `ready` on RC in nearly every
# read, which costs speed, but loses no data.
TOLERATED = {"rc-backpressure"}


def tolerated(csr) -> set[str]:
    """Return the names of the rules that gateware with the register map `csr` may break in any
    test.

    Gateware with Lanebox's endpoint may break none. It is recognised by its register
    `pcie_endpoint_control`. A test that passes a `csr` without registers names all rules itself.
    """
    registers = csr.get("csr_registers")
    return set() if registers is None or "pcie_endpoint_control" in registers else TOLERATED


class WatchedBoard(BoardProcess):
    """A board as a context manager: `with start_board("--mps", "256") as board:`.

    `status` is the exit status that the board must end with. `violations` names the rules that the
    board must have reported as broken. Other rules must not have been broken, except those that
    tolerated() returns. If `violations` is None, the test checks the rules itself, and only the
    rules in TOLERATED are checked when the board ends. After the board's end `output` holds what
    the board wrote on stderr.
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
        """Return a vfio-user connection to the board, without any setting up of the card. The
        connection is closed when the board ends."""
        client = VfioClient(self.socket, **options)
        self._clients.append(client)
        return client

    def card(self, memory_of=None, **options) -> Card:
        """Connect to the board and enumerate the card; returns the Card. `options` are those of
        Card.enumerate()."""
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
        """Wait until `cycles` cycles of device time have passed, or until device time stands still.

        Device time stands still while the board has no work, so the wait could otherwise last for
        ever.
        """
        end = self.stats()["cycles"] + cycles
        wait_until(lambda: self.has_passed(end), f"{cycles} cycles, or device time at a standstill")

    def has_passed(self, cycle):
        """Return whether device time has passed `cycle`, or stands still and would never reach
        it."""
        before = self.stats()["cycles"]
        return before > cycle or all(self.stats()["cycles"] == before for _ in range(20))

    def _note_violations(self):
        for rule, count in super().command("stats")["violations"].items():
            self.violations[rule] = self.violations.get(rule, 0) + count

    def wait(self, seconds=STOP_SECONDS) -> int:
        """Wait for a board that ends by itself, at most `seconds` of wall time. Returns its exit
        status."""
        status = self.process.wait(seconds)
        self.output = self.log.read_text(errors="replace")
        return status

    def tlps(self) -> TlpLog:
        """Return the TLPs that have passed the hard block's pins. The board must have ended, since
        the log is complete only then."""
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
        if self.status == 0:
            self._judge_violations()

    def _judge_violations(self):
        broken, forgiven = set(self.violations), tolerated(self.csr)
        if self.expected_violations is None:
            assert not broken & TOLERATED - forgiven, self.output
        else:
            expected = set(self.expected_violations)
            assert broken - (forgiven - expected) == expected, self.output

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
    """Run a board that must end at once, for example because an option is wrong. Returns its exit
    status, stdout and stderr."""
    result = subprocess.run(
        [executable, *map(str, options)],
        capture_output=True,
        text=True,
        timeout=seconds,
        stdin=subprocess.DEVNULL,
    )
    return result.returncode, result.stdout, result.stderr
