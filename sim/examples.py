# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Finds examples: folders with logic for the user slot, its clients and its tests.

The file NAME/NAME.py has the logic. The files client.c, client.py and test_*.py are its clients and
its tests; each of them may be missing. The folder is one of examples/, or a user's own in any other
place. The class of the logic is named after the folder: spinal_scale has SpinalScale."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DIGITS = 8  # hexadecimal digits of the hash that tells two folders of the same name apart


@dataclass(frozen=True)
class Example:
    """A folder with logic for the user slot.

    The properties of an Example are paths of the files in it."""

    folder: Path

    @property
    def title(self) -> str:
        """Return the folder's name. The example's files and its class are named after it."""
        return self.folder.name

    @property
    def name(self) -> str:
        """Return the name under which the example's builds are kept.

        For a folder outside examples/ the name has a hash of the path, since a folder in examples/
        may have the same name."""
        if self.folder.parent == EXAMPLES:
            return self.title
        return f"{self.title}-{hashlib.sha256(str(self.folder).encode()).hexdigest()[:DIGITS]}"

    @property
    def user(self) -> str:
        """Return FILE:CLASS of the example's logic, the value of the option --user of
        targets/sim.py."""
        occupant = "".join(part.capitalize() for part in self.title.split("_"))
        return f"{self.folder / self.title}.py:{occupant}"

    @property
    def client(self) -> Path | None:
        """Return the path of the example's client in C, or None if it has no client.c."""
        return self._file("client.c")

    @property
    def python_client(self) -> Path | None:
        """Return the path of the example's client in Python, or None if it has no client.py."""
        return self._file("client.py")

    @property
    def tests(self) -> list[Path]:
        """Return the paths of the example's cocotb tests, which use sim/block/bench.py."""
        return sorted(self.folder.glob("test_*.py"))

    def _file(self, name: str) -> Path | None:
        path = self.folder / name
        return path if path.is_file() else None


@dataclass(frozen=True)
class Occupant:
    """Logic for the user slot that is no example. It has a name for its build, and MODULE:CLASS."""

    name: str
    user: str


# Logic for the user slot with a memory in BAR2, behind the slot's AXI4 bus. The memory answers each
# access after 50 cycles.
AXI50 = Occupant("axi50", "gateware.user.axi_memory:SlowMemoryOnAxi")
# Logic for the user slot that reads host memory by commands, as fast as it can.
COMMANDS = Occupant("commands", "gateware.user.command_reader:CommandReader")


def names() -> list[str]:
    """Return the name of every folder NAME in examples/ that has a NAME.py, sorted."""
    return sorted(p.name for p in EXAMPLES.iterdir() if (p / f"{p.name}.py").exists())


def _next_step(folder: Path) -> str:
    """Return what to say about an example's folder that does not exist.

    The text names a folder of a similar name in the same place, if there is one, and the command
    that makes a new example."""
    beside = folder.parent.iterdir() if folder.parent.is_dir() else ()
    blocks = [each.name for each in beside if (each / f"{each.name}.py").is_file()]
    near = get_close_matches(folder.name, blocks, n=1)
    meant = f" Did you mean {folder.parent / near[0]}?" if near else ""
    return f"{meant} A new block begins with `make new NAME={folder}`"


def find(text: str) -> Example:
    """Return the example called `text` or, if `text` has a slash, the example in that folder.

    Raises ValueError with a message that says what is missing."""
    if "/" not in text:
        if text in names():
            return Example(EXAMPLES / text)
        raise ValueError(
            f"example '{text}' is unknown; there are {', '.join(names())}. A folder of your own "
            f"has a slash: ./{text}"
        )
    folder = Path(text).expanduser().resolve()
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}.{_next_step(folder)}")
    if not folder.name.isidentifier():
        raise ValueError(
            f"example '{text}': a class cannot be named after '{folder.name}'. Letters, digits and "
            "'_' can be in the folder's name, and no digit in front"
        )
    if not (folder / f"{folder.name}.py").is_file():
        raise ValueError(f"{folder} has no {folder.name}.py, the user slot's logic")
    return Example(folder)
