# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The examples by name: examples/NAME/NAME.py is the user slot's occupant, client.c its client."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@dataclass(frozen=True)
class Example:
    """Logic for the user slot; its class is named after the folder: spinal_scale, SpinalScale."""

    name: str

    @property
    def user(self) -> str:
        """What targets/sim.py --user takes."""
        occupant = "".join(part.capitalize() for part in self.name.split("_"))
        return f"{EXAMPLES / self.name / self.name}.py:{occupant}"


@dataclass(frozen=True)
class Occupant:
    """Logic for the user slot that is no example: a name for its build, and its class."""

    name: str
    user: str


# A user's memory of 50 cycles on AXI4, in BAR2.
AXI50 = Occupant("axi50", "lanebox.user.axi_memory:SlowMemoryOnAxi")


def names() -> list[str]:
    """Every folder that follows the rule above."""
    return sorted(p.name for p in EXAMPLES.iterdir() if (p / f"{p.name}.py").exists())


def find(name: str) -> Example:
    """The example called `name`; ValueError with the names that there are."""
    if name not in names():
        raise ValueError(f"example '{name}' is unknown; there are {', '.join(names())}")
    return Example(name)
