# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The gateware, the board and the register map for tests. Each is built once in a test session."""

import functools
import json
import subprocess
import sys
from pathlib import Path

from sim.board.build import build_board
from sim.endpoints import DEFAULT

ROOT = Path(__file__).resolve().parents[3]


@functools.cache
def build_gateware(endpoint=DEFAULT, msix=False, capture=False):
    """The gateware's folder. It is built again when a source has changed."""
    variant = ([] if endpoint == DEFAULT else [endpoint]) + (["msix"] if msix else [])
    variant += ["capture"] if capture else []
    output = ROOT / "build" / "-".join(["sim", *variant])
    command = [sys.executable, str(ROOT / "targets" / "sim.py"), "--build"]
    command += ["--msix"] if msix else []
    command += ["--capture"] if capture else []
    result = subprocess.run(
        [*command, "--endpoint", endpoint, "--output-dir", str(output)],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return output


@functools.cache
def build_executable(endpoint=DEFAULT, msix=False, capture=False):
    """The path of the program of the board with this gateware."""
    return build_board(build_gateware(endpoint, msix, capture), quiet=True)


@functools.cache
def register_map(endpoint=DEFAULT, msix=False, capture=False):
    """The register map of this gateware: csr.json as LiteX wrote it."""
    return json.loads((build_gateware(endpoint, msix, capture) / "csr.json").read_text())
