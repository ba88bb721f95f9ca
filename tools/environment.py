# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Finds the Python that has LiteX, for scripts that are started by name from a shell.

This module uses the standard library only: when it runs, perhaps nothing else is installed.
"""

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PACKAGES = ("migen", "litex", "litepcie", "gateware")


def enter_environment():
    """Return if this Python has the packages; otherwise start again with the Python of .venv.

    If neither Python has the packages, exit with status 2 and name the one command to run.
    """
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if not missing:
        return
    python = VENV / "bin" / "python3"
    if python.exists() and Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(python, [str(python), *sys.argv])
    print(
        f"{sys.argv[0]}: no Python package {', '.join(missing)} here or in {VENV.name}: run "
        f"`make setup` in {ROOT}",
        file=sys.stderr,
    )
    sys.exit(2)
