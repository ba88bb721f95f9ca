# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the clients of an example, client.c and client.py, on a running board."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sim import artefacts
from sim.artefacts import Artefacts
from sim.errors import TestFailed
from sim.examples import Example

SECONDS = 300  # A client program that still runs after this many seconds has failed.


def environment(gateware: Path) -> dict[str, str]:
    """Return this process' environment with the variables that a Python client needs.

    By these variables the client finds the package lanebox_host, the library liblitepcie and the
    register map of `gateware`.
    """
    places = {
        "PYTHONPATH": str(artefacts.ROOT / "software" / "python"),
        "LIBLITEPCIE": str(artefacts.library()),
        "LANEBOX_CSR": str(gateware / "csr.json"),
    }
    return {**os.environ, **places}


def run(example: Example, built: Artefacts, device: str) -> int:
    """Run the example's client programs on `device`, one after the other. Return their number.

    The programs print to this terminal. Raises TestFailed if a program fails.
    """
    commands = []
    if example.client:
        program = artefacts.client(example, built.headers)
        commands.append(("client.c", [program, "-d", device], None))
    if example.python_client:
        program = [sys.executable, example.python_client]
        commands.append(("client.py", [*program, "-d", device], environment(built.gateware)))
    for name, command, places in commands:
        print(f"{example.title}/{name}: ", end="", flush=True)
        try:
            status = subprocess.run(command, env=places, timeout=SECONDS).returncode
        except subprocess.TimeoutExpired:
            status = f"no end within {SECONDS} s"
        if status:
            raise TestFailed(f"{example.folder / name} failed on the board: status {status}")
    return len(commands)
