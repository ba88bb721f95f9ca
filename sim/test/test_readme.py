# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every command in README.md, as it stands there."""

import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 900

# Run here only by `make soak` and CI: too long for `make test`, or `make test` itself.
LONG = {
    "make sim", "make bench", "make sim MPS=128", "make sim KERNEL=6.12",
    "make sim ENDPOINT=litepcie", "make sim DRIVER=stock", "make sim MSIX=1",
}  # fmt: skip
ELSEWHERE = {"make test"}  # this is it
INTERACTIVE = {"make shell"}


def commands() -> list[str]:
    """The lines of README's sh blocks, without their comments."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = "".join(blocks).splitlines()
    return [line.partition("#")[0].strip() for line in lines if line.strip()]


def plain() -> list:
    """Those that need no terminal, the long ones marked."""
    return [
        pytest.param(line, marks=pytest.mark.soak if line in LONG else ())
        for line in commands()
        if line not in ELSEWHERE | INTERACTIVE
    ]


@pytest.mark.parametrize("command", plain())
def test_a_command_of_the_readme_works(command, results_kept):
    """It ends with status 0, in a shell, from the repository's root."""
    done = subprocess.run(
        command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_the_lists_above_are_the_readmes():
    """A command that leaves the README leaves these lists as well."""
    assert LONG | ELSEWHERE | INTERACTIVE <= set(commands())


@pytest.mark.guest
def test_make_shell_gives_a_guest_to_a_person():
    """On a terminal: a prompt, the driver loaded, the utility in the path; exit powers off."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        os.execvp("make", ["make", "shell"])
    text, typed, deadline = b"", False, time.monotonic() + 120
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            text += os.read(terminal, 4096)
        except OSError:  # the terminal's other end is closed
            break
        if not typed and b"Leave with" in text and text.rstrip().endswith(b"# \x1b[6n"):
            os.write(terminal, b"litepcie_util scratch_test\nexit\n")
            typed = True
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, text[-2000:]
    assert b"38 patterns, 0 errors" in text
