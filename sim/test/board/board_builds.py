# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The gateware, the board and the register map that the tests use, each made once a session."""

import functools
import json
import subprocess
import sys
from pathlib import Path

from sim.board.build import build_board
from sim.endpoints import DEFAULT

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def build_gateware(endpoint=DEFAULT, msix=False):
    """The gateware's folder, built when its sources have changed."""
    variant = ([] if endpoint == DEFAULT else [endpoint]) + (["msix"] if msix else [])
    output = ROOT / "build" / "-".join(["sim", *variant])
    command = [sys.executable, str(ROOT / "targets" / "sim.py"), "--build"]
    command += ["--msix"] if msix else []
    result = subprocess.run(
        [*command, "--endpoint", endpoint, "--output-dir", str(output)],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return output


@functools.cache
def build_executable(endpoint=DEFAULT, msix=False):
    """The board's executable."""
    return build_board(build_gateware(endpoint, msix), quiet=True)


@functools.cache
def register_map(endpoint=DEFAULT, msix=False):
    """csr.json as LiteX wrote it."""
    return json.loads((build_gateware(endpoint, msix) / "csr.json").read_text())
