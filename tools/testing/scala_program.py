# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Run a program of the Scala tests, such as a campaign of random steps, in a Java virtual machine
of its own."""

import subprocess

from gateware.test.spinal_suites import environment
from tools.verilog import spinal_build

# Characters of a program's output that the message of a failed test shows.
SHOWN = 5000


def run_scala(program, *arguments, folder, seconds):
    """Run the Scala object `program` with these arguments, for at most so many seconds. Its
    simulations write their files to `folder`. The program must succeed. Returns what it writes to
    its standard output."""
    command = ["java", "-Xmx1g", "-cp", spinal_build.compile_tests(), program]
    done = subprocess.run(
        [*command, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environment(),
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-SHOWN:]
    return done.stdout
