# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A board process together with the litepcie_util that runs commands on it, without a guest."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

from sim.board.process import BoardProcess
from sim.errors import TestFailed
from sim.rows.measure import Conditions

# A litepcie_util command fails after this many seconds. The longest test takes a tenth of it.
TIMEOUT = 300


class Card:
    """A running board on which litepcie_util runs commands.

    Use: `with Card(board, util, conditions) as card: report, broken = card.run("dma_test")`.
    """

    def __init__(self, board: Path, util: Path, at: Conditions, more: list[str] | None = None):
        self.util = util
        self.at = at
        self.board = BoardProcess(board, at.board_options() + (more or []))

    def __enter__(self) -> Card:
        self.board.__enter__()
        return self

    def __exit__(self, *error) -> None:
        self.board.__exit__(*error)

    def complete_at(self, completion_size: int) -> Conditions:
        """Make the board's host split completions at this size, in bytes, from now on.

        Returns the new conditions of the measurement.
        """
        self.board.command(f"set completion-size {completion_size}")
        self.at = replace(self.at, completion_size=completion_size)
        return self.at

    @property
    def device(self) -> str:
        """Return the argument of litepcie_util -d for this board: its socket and MRRS.

        MRRS is in it since the client sets it, and not the board.
        """
        return f"sim:{self.board.socket},mrrs={self.at.mrrs}"

    def run(self, *arguments: str) -> tuple[dict, int]:
        """Run one command of litepcie_util on the board.

        Returns the JSON that the command printed, and how often rules of the hard block were broken
        during the command.
        """
        self.board.command("clear")
        command = [self.util, "-d", self.device, "--json", *arguments]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
            report = json.loads(result.stdout)
        except subprocess.TimeoutExpired:
            raise TestFailed(
                f"{' '.join(arguments)}: not done after {TIMEOUT} s\n{self.board.tail()}"
            ) from None
        except ValueError:
            raise TestFailed(
                f"{' '.join(arguments)}: {result.stderr}\n{self.board.tail()}"
            ) from None
        return report, sum(self.board.stats()["violations"].values())

    def show(self, *arguments: str) -> int:
        """Run one command of litepcie_util with its output on this terminal. Return its exit
        status."""
        command = [self.util, "-d", self.device, *arguments]
        try:
            return subprocess.run(command, timeout=TIMEOUT).returncode
        except subprocess.TimeoutExpired:
            raise TestFailed(f"{' '.join(arguments)}: not done after {TIMEOUT} s") from None
