# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The repository's root folder, and a function that runs targets/sim.py as a user does."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_sim_target(*arguments, **environment):
    """Run targets/sim.py with arguments and with additions to the environment.

    Returns the finished process.
    """
    return subprocess.run(
        [sys.executable, ROOT / "targets" / "sim.py", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
