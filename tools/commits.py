# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the messages of commits: `area: imperative` in the first line, and the reason below it.

`python -m tools.commits` checks the commits since BEGIN. `python -m tools.commits FILE` checks one
message, so that git can call this module as its hook commit-msg:

    printf '#!/bin/sh\\nexec .venv/bin/python -m tools.commits "$1"\\n' >.git/hooks/commit-msg
    chmod +x .git/hooks/commit-msg
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGIN = "2026-11-26T15:00:00+00:00"  # Older messages do not all keep the rules.
WIDTH = 80  # most columns of the first line
# One name for each part of the tree. A change of two parts names both: `kernel, liblitepcie: ...`
AREAS = set(
    "bench bringup capability capture card ci completer dma docs endpoint examples firmware "
    "gateware interrupt kernel lanebox-capture liblitepcie litepcie_util mmio observe phy port "
    "python requester setup sim software targets test tools uapi user virtio vocabulary".split()
)
SUBJECT = re.compile(r"(?P<areas>[a-z_-]+(?:, [a-z_-]+)*): [a-zA-Z0-9`].*[^.]")


def faults(message: str) -> list[str]:
    """Return what is wrong with the message of a commit, a sentence for each fault."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject, *rest = lines or [""]
    if subject.startswith("Merge "):
        return []
    found = []
    match = SUBJECT.fullmatch(subject)
    if not match:
        found.append("the first line is not `area: imperative`, without a full stop")
    elif unknown := set(match["areas"].split(", ")) - AREAS:
        found.append(f"no area is called {', '.join(sorted(unknown))}: see AREAS")
    if len(subject) > WIDTH:
        found.append(f"the first line has {len(subject)} columns, and {WIDTH} are the most")
    if rest and rest[0]:
        found.append("the second line is not empty")
    if not any(rest):
        found.append("no text below the first line says why")
    return found


def messages(begin: str) -> dict[str, str]:
    """Return the messages of all commits since `begin`, an ISO date, by the commits' hashes.

    A source tree without git has none.
    """
    if not (ROOT / ".git").exists():
        return {}
    command = ["git", "log", f"--since={begin}", "--no-merges", "--format=%h%x00%B%x01"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    entries = (entry.strip().split("\0", 1) for entry in done.stdout.split("\1") if entry.strip())
    return dict((key, text) for key, text in entries)


def main(arguments: list[str]) -> int:
    """Print the faults of the messages. Return 1 if there are any, otherwise 0."""
    if arguments:
        given = {arguments[0]: Path(arguments[0]).read_text()}
    else:
        given = messages(BEGIN)
    failed = False
    for name, text in given.items():
        for fault in faults(text):
            print(f"{name}: {text.splitlines()[0] if text else ''}\n    {fault}")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
