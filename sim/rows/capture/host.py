# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows of what a captured packet costs a program: instructions and system calls.

They are counted and not timed. The test program capture_cost.c runs twice with different lengths,
and the difference is the cost of the packets. It plays a card that is as fast as the link, so the
recorder never waits longer than for that. Each new limit that the recorder gives the card counts as
a system call, since it is one behind the driver. Instructions are those in user space, by
callgrind. A copy of a record of 96 bytes would take six instructions at least, so fewer of them
mean no copy.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sim import artefacts
from sim.errors import TestFailed
from sim.rows.limits import Limit
from sim.rows.results import Row, row

GIB = 1 << 30
MBUF = 1 << 20  # bytes of an MBUF (a part of the ring) of capture_cost.c. Its ring has 256 MiB.
PACKETS = (1000, 9000)  # packets of a short and a long walk through records
MBUFS = (64, 320)  # MBUFs of a short and a long recording
# The goals: instructions for a packet, and system calls for a GiB.
WALK, RECORD, CALLS = 20, 1, 64
SECONDS = 1200
COLLECTED = r"Collected : (\d+)"  # callgrind's line with the sum of instructions
LIMITS = "limits"  # the number of new limits of the card in the report of capture_cost.c
# The line of `strace -c` with the sum of calls. The column of errors may be empty.
TOTAL = r"^\S+\s+\S+\s+(?:\S+\s+)?(\d+)\s+(?:\d+\s+)?total$"


def program() -> Path:
    """Build the test program capture_cost, without sanitizers, and return its path."""
    out = artefacts.BUILD / "software" / "cost"
    made = out / "test" / "capture_cost"
    command = ["make", "-s", "-C", artefacts.ROOT / "software", f"OUT={out}", made]
    subprocess.run(list(map(str, command)), check=True)
    return made


def callgrind(folder: str, *functions: str) -> list[str]:
    """Return the words that let callgrind count the instructions inside these functions."""
    toggles = [f"--toggle-collect={name}" for name in functions]
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/profile", *toggles]


def counted(prefix: list[str], pattern: str, *command: str) -> tuple[int, dict[str, str]]:
    """Run the program; return the number that `pattern` finds in the tool's output, and what the
    program prints as pairs of a name and a number."""
    done = subprocess.run([*prefix, *command], capture_output=True, text=True, timeout=SECONDS)
    found = re.search(pattern, done.stderr, re.MULTILINE)
    if done.returncode or not found:
        raise TestFailed(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return int(found.group(1)), dict(re.findall(r"(\w+) (\d+)", done.stdout))


def walked(made: Path) -> float:
    """Return the instructions of a packet in a loop that counts packets, bytes and time."""
    with tempfile.TemporaryDirectory() as folder:
        # The compiler may have appended something to the function's name.
        prefix = callgrind(folder, "count_packets*")
        used = [counted(prefix, COLLECTED, str(made), "count", str(n))[0] for n in PACKETS]
    return (used[1] - used[0]) / (PACKETS[1] - PACKETS[0])


def recorded(made: Path, folder: str, prefix: list[str], pattern: str) -> tuple[float, dict]:
    """Return what a long recording has more than a short one, for each byte, and the program's
    report of the long one. Its `limits` are the difference, too, for each byte."""
    used = []
    limits = []
    for mbufs in MBUFS:
        file = Path(folder) / "a.pcapng"
        number, report = counted(prefix, pattern, str(made), "record", str(mbufs), str(file))
        used.append(number)
        limits.append(int(report[LIMITS]))
        file.unlink()
    more = (MBUFS[1] - MBUFS[0]) * MBUF
    return (used[1] - used[0]) / more, report | {LIMITS: (limits[1] - limits[0]) / more}


def rows() -> Iterator[Row]:
    """Yield the rows of instructions a packet, and of system calls for a GiB.

    A row has no value if the tool that counts is not there.
    """
    made = program()
    missing = [name for name in ("valgrind", "strace") if not shutil.which(name)]
    names = ("capture/insn/packet", "capture/insn/record", "capture/syscalls")
    if missing:
        for name in names:
            yield row(name, None, "", reason=f"not counted: there is no {missing[0]} here")
        return
    yield _row(names[0], walked(made), "insn/packet", WALK, path="litepcie_record_next(), inline")
    # The files go to the build's folder, since a temporary one may be memory without O_DIRECT.
    with tempfile.TemporaryDirectory(dir=artefacts.BUILD) as folder:
        # The program's start, which fills the ring's memory, is the same in both runs.
        instructions, report = recorded(made, folder, callgrind(folder, "record"), COLLECTED)
        packets = int(report["packets"]) / int(report["bytes"])
        how = {key: int(report[key]) for key in ("io_uring", "fixed", "direct")}
        yield _row(names[1], instructions / packets, "insn/packet", RECORD, size=64, **how)
        calls, report = recorded(made, folder, ["strace", "-f", "-c"], TOTAL)
        told = report[LIMITS] * GIB
        how |= {"ring": 256 << 20, "mbuf": MBUF, "limits": told}
        yield _row(names[2], calls * GIB + told, "calls/GiB", CALLS, **how)


def _row(name: str, value: float, unit: str, budget: float, **conditions) -> Row:
    return row(
        name, value, unit, Limit(budget, "budget"), lower_is_better=True, conditions=conditions
    )
