# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `sim/cpu/*`: what the management CPU costs the simulation, in the host's instructions for a
cycle of the card.

callgrind counts the instructions inside the function that simulates one cycle, so neither the
board's sockets nor the load of the machine count. Each board runs twice, for a different number of
cycles without traffic, and the difference is the cost of the cycles. `sim/cpu/awake` compares a CPU
that never sleeps with one that sleeps, and `sim/cpu/asleep` compares that one with a gateware
without a CPU."""

from __future__ import annotations

import json
import re
import shutil
import struct
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from gateware import numbers
from gateware.card.cpu import image, layout
from sim.artefacts import Artefacts
from sim.clients.vfio import BAR0
from sim.errors import TestFailed
from sim.rows.limits import Limit
from sim.rows.measure import Conditions
from sim.rows.peer import Bar
from sim.rows.results import Row, row

CYCLES = (
    20_000,
    40_000,
)  # cycles of a short and of a long run, after the host's last access
# Goals for ratios of instructions in a cycle: of a CPU that never sleeps to one that sleeps, and of
# a sleeping CPU to a card without one.
AWAKE, ASLEEP = 1.03, 1.00
CYCLE = "lanebox::Gateware::tick*"  # the function that simulates one cycle
# Under callgrind each step of a board must end within this many seconds of wall time.
SECONDS = 600
STATE = (1 << layout.STATUS["state"][1]) - 1  # bits of the register management_status
TOTAL = r"^(?:summary|totals): (\d+)"  # the line of a profile with the sum of instructions
# Firmware for a CPU that never sleeps: it computes all the time, and gives a heartbeat in between.
BUSY = """
#include "card.h"
int main(void) {
    for (volatile uint32_t n = 0;; n++)
        if (!(n & 0xff))
            reg_write(OWN_HEARTBEAT, 1);
}
"""


def busy_image() -> bytes:
    """Return a firmware image for the management CPU, made from the C program BUSY, which never
    lets the CPU sleep."""
    heartbeat = layout.OWN_BASE + layout.OWN["heartbeat"]
    header = f"#define IMAGE_MAGIC {layout.IMAGE_MAGIC:#x}\n#define OWN_HEARTBEAT {heartbeat:#x}u\n"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "main.c").write_text(BUSY)
        return image.compile_image(header, image.Firmware(Path(folder)))


def load(bar: Bar, raw: bytes) -> None:
    """Give the CPU an image, and let it start.

    The image can be written when the check of the one before has ended."""
    bar.register("management_control", 1)
    deadline = time.monotonic() + SECONDS
    while bar.read_register("management_status") & STATE != layout.STATES["held"]:
        if time.monotonic() > deadline:
            raise TestFailed(f"the management CPU was not held within {SECONDS} s")
    for place, (word,) in enumerate(struct.iter_unpack("<4s", raw)):
        bar.client.write(BAR0, numbers.CPU_IMAGE_BASE + layout.WORD * place, word)
    bar.register("management_control", 0)


def counted(built: Artefacts, at: Conditions, cycles: int, raw: bytes | None) -> tuple[int, int]:
    """Run a board under callgrind until `cycles` cycles after its start, with the image `raw` in
    its management CPU if there is one.

    Return (the host's instructions inside the function CYCLE, all cycles that the board simulated).
    Raises TestFailed if the run takes more than SECONDS or callgrind saw no call of CYCLE.
    """
    with tempfile.TemporaryDirectory() as name:
        profile, stats = Path(name) / "profile", Path(name) / "stats"
        bar = Bar(built.board, built.gateware / "csr.json", at, ["--stats", str(stats)])
        bar.board.under = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        bar.board.under.append(f"--toggle-collect={CYCLE}")
        bar.board.patience = SECONDS
        with bar:
            if raw:
                load(bar, raw)
            end = bar.board.stats()["cycles"] + cycles
            bar.board.command(f"at {end} mark")
            deadline = time.monotonic() + SECONDS
            while bar.board.stats()["planned"]:
                if time.monotonic() > deadline:
                    raise TestFailed(f"{cycles} cycles were not done within {SECONDS} s")
                time.sleep(0.1)
            bar.board.process.terminate()
            bar.board.process.wait(SECONDS)
        found = re.search(TOTAL, profile.read_text(), re.MULTILINE)
        if not found or not int(found.group(1)):
            raise TestFailed(f"callgrind has seen no call of {CYCLE} in {built.board}")
        return int(found.group(1)), json.loads(stats.read_text())["cycles"]


def per_cycle(built: Artefacts, at: Conditions, raw: bytes | None = None) -> float:
    """Return how many instructions of the host it takes to simulate one cycle of the card.

    The card's management CPU runs the image `raw`. If `raw` is None, it runs the image that the
    gateware has.
    """
    (few, begin), (many, end) = (counted(built, at, cycles, raw) for cycles in CYCLES)
    return (many - few) / (end - begin)


def rows(without: Artefacts, built: Artefacts, at: Conditions) -> Iterator[Row]:
    """Yield both rows. `built` is a card with the management CPU, `without` the same without it.

    The rows have no value if callgrind or the compiler of the firmware is not there."""
    missing = [] if shutil.which("valgrind") else ["valgrind"]
    missing += [] if image.compiler() else [f"{image.PREFIX}gcc"]
    if missing:
        for name in ("awake", "asleep"):
            yield row(f"sim/cpu/{name}", None, "", reason=f"not counted: no {missing[0]} here")
        return
    cost = {
        "none": per_cycle(without, at),
        "asleep": per_cycle(built, at),
        "awake": per_cycle(built, at, busy_image()),
    }
    for name, other, goal in (("awake", "asleep", AWAKE), ("asleep", "none", ASLEEP)):
        yield row(
            f"sim/cpu/{name}",
            cost[name] / cost[other],
            f"of {other}",
            Limit(goal, "budget"),
            lower_is_better=True,
            conditions={**asdict(at), "instructions_per_cycle": cost},
        )
