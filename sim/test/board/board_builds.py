# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Builds for tests: the gateware, the program of the board, and the register map. A test session
builds each of them once."""

import functools
import json
import subprocess
import sys
from pathlib import Path

from sim.board.build import build_board
from sim.endpoints import DEFAULT

ROOT = Path(__file__).resolve().parents[3]


@functools.cache
def build_gateware(
    endpoint=DEFAULT,
    msix=False,
    capture=False,
    card=False,
    virtio=False,
    firmware=False,
    packed=False,
):
    """Build the gateware with this endpoint, unless no source has changed since the last build.
    `capture` is True, or a number of queues. Returns the path of its folder."""
    variant = ([] if endpoint == DEFAULT else [endpoint]) + (["msix"] if msix else [])
    variant += [f"capture{capture if capture > 1 else ''}"] if capture else []
    variant += ["card"] if card else []
    variant += ["virtio"] if virtio else []
    variant += ["packed"] if packed else []
    variant += ["firmware"] if firmware else []
    output = ROOT / "build" / "-".join(["sim", *variant])
    command = [sys.executable, str(ROOT / "targets" / "sim.py"), "--build"]
    command += ["--msix"] if msix else []
    command += ["--capture", str(int(capture))] if capture else []
    command += ["--card"] if card else []
    command += ["--virtio", "1" if packed else "2"] if virtio else []
    command += ["--packed"] if packed else []
    command += ["--firmware", "default"] if firmware else []
    result = subprocess.run(
        [*command, "--endpoint", endpoint, "--output-dir", str(output)],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return output


@functools.cache
def build_executable(
    endpoint=DEFAULT,
    msix=False,
    capture=False,
    card=False,
    virtio=False,
    firmware=False,
    packed=False,
):
    """Build the simulated board with the gateware of these options. Returns the path of the board's
    program."""
    return build_board(
        build_gateware(endpoint, msix, capture, card, virtio, firmware, packed), quiet=True
    )


@functools.cache
def register_map(
    endpoint=DEFAULT,
    msix=False,
    capture=False,
    card=False,
    virtio=False,
    firmware=False,
    packed=False,
):
    """Return the register map of the gateware with these options: the content of csr.json, which
    LiteX wrote."""
    folder = build_gateware(endpoint, msix, capture, card, virtio, firmware, packed)
    return json.loads((folder / "csr.json").read_text())
