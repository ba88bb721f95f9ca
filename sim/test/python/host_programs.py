# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run programs that use the Python package of software/python, for the package's tests."""

import os
import subprocess
import sys

from sim.test.board.board_builds import ROOT

PYTHON = ROOT / "software" / "python"


def run(board, *words):
    """Run Python with these words. The word DEVICE stands for the name of the board's card."""
    environment = {**os.environ, "PYTHONPATH": str(PYTHON)}
    words = [f"sim:{board.socket}" if word == "DEVICE" else str(word) for word in words]
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=120, env=environment
    )
