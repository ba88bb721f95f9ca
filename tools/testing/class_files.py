# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Finds the compiled classes that a class uses, also indirectly, and makes a digest of them all.

A class file has the names of the classes that it uses as text (JVM specification 4.4.7), with
slashes for dots. So every name of this project in the file counts as used. A name too many costs
one more test run. A used class is never missed.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

NAME = re.compile(rb"lanebox(?:/[\w$]+)+")


@cache
def _read(file: Path) -> tuple[bytes, frozenset[str]]:
    """Return the digest of a class file, and the names of this project's classes in it."""
    content = file.read_bytes()
    names = frozenset(name.decode() for name in NAME.findall(content))
    return hashlib.sha256(content).digest(), names


def _find(name: str, folders: list[Path]) -> Path | None:
    """Return the file of a Java class in the first folder that has it, or None."""
    files = (folder / f"{name}.class" for folder in folders)
    return next((file for file in files if file.is_file()), None)


def closure(name: str, folders: list[Path]) -> dict[str, Path]:
    """Return the class files that the class `name` needs, its own included, by class name.

    `name` is like "lanebox.mmio.MmioBridge". A class of another project is not listed. Raises
    KeyError if no folder has the class `name`.
    """
    first = name.replace(".", "/")
    if _find(first, folders) is None:
        raise KeyError(f"no class {name} in {', '.join(map(str, folders))}")
    found: dict[str, Path] = {}
    waiting, seen = [first], {first}
    while waiting:
        each = waiting.pop()
        if file := _find(each, folders):
            found[each] = file
            new = _read(file)[1] - seen
            seen |= new
            waiting += new
    return found


def digest(name: str, folders: list[Path]) -> str:
    """Return a digest that changes if a class that class `name` needs comes, changes or goes."""
    total = hashlib.sha256()
    for each, file in sorted(closure(name, folders).items()):
        total.update(each.encode() + b"\0" + _read(file)[0])
    return total.hexdigest()
