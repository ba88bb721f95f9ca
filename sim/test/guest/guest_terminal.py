# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Plays the user of `make shell`: waits for the guest's prompt, types keys, and reads until the
guest powers off."""

import os
import pty
import select
import time
from pathlib import Path

PROMPT = b"# \x1b[6n"  # the guest's shell prints this prompt, then asks for the cursor's position


def shell(command: list[str], keys: str, folder: Path, env: dict, seconds: float = 120) -> str:
    """Type `keys` at the first prompt of the guest that `command` starts; returns all terminal
    output.

    If the command fails or takes longer than `seconds`, AssertionError has the end of the output.
    """
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe(command[0], command, env)
    text, typed, deadline = b"", False, time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            text += os.read(terminal, 4096)
        except OSError:  # the guest's command has ended and closed the terminal
            break
        if not typed and b"Leave with" in text and text.rstrip().endswith(PROMPT):
            os.write(terminal, keys.encode())
            typed = True
    else:
        os.kill(child, 9)
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, text[-3000:]
    return text.decode(errors="replace")
