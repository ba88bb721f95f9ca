# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Builds and runs the program that measures the model of the hard block with ideal user logic.

The program gives the payload rate of each stream, in device time. Verilator is not needed. The
program is kept under build/ideal/ by a hash of its sources.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from sim.board.build import BOARD, model_files, numbers_header
from sim.board.program import build_program
from sim.errors import TestFailed

IDEAL = BOARD / "ideal"


def rates(cycles: int = 100_000) -> dict:
    """Run the program and return the rates that it measured.

    They have the form {stream: {bytes per TLP: {"gb_per_s", "bytes", "cycles", "mps",
    "violations"}}}.
    """
    result = subprocess.run([build(), str(cycles)], capture_output=True, text=True)
    if result.returncode:
        raise TestFailed(f"the model refuses its ideal users: {result.stderr.strip()}")
    return json.loads(result.stdout)


def build() -> Path:
    """Compile the program `ideal` if its sources have changed. Return its path."""
    headers = [numbers_header(), *sorted(BOARD.rglob("*.hpp"))]
    return build_program("ideal", [*model_files(".cpp"), *sorted(IDEAL.glob("*.cpp"))], headers)
