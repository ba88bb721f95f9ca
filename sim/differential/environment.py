# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the Python environment of the independent model (cocotbext-pcie), apart from our own.

Promises: build/cocotb/venv-<content> has the packages of tools/requirements-cocotb.txt and the
cocotb that works with this machine's Verilator. It is made once, and used again while both stay the
same. `python -m sim.differential.environment` makes it ahead of the tests.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from sim.errors import BuildError
from tools.locks import locked
from tools.progress import run

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "cocotb"
REQUIREMENTS = ROOT / "tools" / "requirements-cocotb.txt"

# cocotb 2 needs calls that Verilator has from 5.032 on (Debian 13). Older versions of Verilator get
# cocotb 1.9.2.
COCOTB_2_FROM = (5, 32)
COCOTB_1, COCOTB_2 = "1.9.2", "2.1.0"


def verilator_version() -> tuple[int, int]:
    """Return the version of Verilator as two numbers, like (5, 6) for "Verilator 5.006 ..."."""
    path = shutil.which("verilator")
    if not path:
        raise BuildError("verilator is not installed; `make setup` installs what is missing")
    text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"(\d+)\.(\d+)", text)
    if not found:
        raise BuildError(f"{path} --version says {text!r}: no version, so no cocotb for it")
    return int(found.group(1)), int(found.group(2))


def cocotb_version() -> str:
    """Return the version of cocotb that this machine's Verilator works with."""
    return COCOTB_2 if verilator_version() >= COCOTB_2_FROM else COCOTB_1


def alone():
    """Return a lock for build/cocotb.

    One process at a time makes files there, and the next process finds them.
    """
    return locked(CACHE / "lock")


def interpreter() -> Path:
    """Return the path of the environment's Python. Make the environment if it is not there.

    Call this function inside `alone`.
    """
    content = REQUIREMENTS.read_text() + cocotb_version() + sys.version
    venv = CACHE / f"venv-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    ready = venv / "ready"
    if not ready.exists():
        # The environment is made in place, since it cannot be moved. The file `ready` is written
        # last. An environment without it is incomplete and is made again.
        shutil.rmtree(venv, ignore_errors=True)
        _make(venv)
        ready.touch()
    return venv / "bin" / "python"


def _make(venv: Path) -> None:
    run([sys.executable, "-m", "venv", venv], "cocotb: Python environment", tie=True)
    # pip prints a notice when a newer pip exists. The notice would be shown as the last line of an
    # error, so it is off.
    environment = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1")
    run(
        [
            venv / "bin" / "python",
            "-m",
            "pip",
            "install",
            "-q",
            f"cocotb=={cocotb_version()}",
            "-r",
            REQUIREMENTS,
        ],
        "cocotb: packages",
        tie=True,
        env=environment,
    )


if __name__ == "__main__":
    with alone():
        print(interpreter())
