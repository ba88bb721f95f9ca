# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the numbers of gateware/numbers.py for other languages, so that each is written once.

Whole numbers and tuples of them get names as each language has them: DATA_WIDTH is
Numbers.DataWidth in Scala and numbers::kDataWidth in C++. Comments stay in gateware/numbers.py.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "gateware" / "numbers.py"

HEAD = """\
// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Generated from gateware/numbers.py, which describes each number: do not edit.
"""

Value = int | tuple[int, ...]


def _whole(value: object) -> Value | None:
    """Return the value if it is a whole number or a tuple of whole numbers; otherwise None.

    A float that is whole becomes an int.
    """
    if isinstance(value, tuple):
        parts = tuple(_whole(part) for part in value)
        return parts if all(isinstance(part, int) for part in parts) else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read(source: Path = SOURCE) -> dict[str, Value]:
    """Return the whole numbers that the file `source` defines, by name, in the file's order."""
    constants = {k: _whole(v) for k, v in runpy.run_path(str(source)).items() if k.isupper()}
    return {name: value for name, value in constants.items() if value is not None}


def camel(name: str) -> str:
    """Return the name of a number in Scala: `DATA_WIDTH` becomes `DataWidth`."""
    return "".join(word.capitalize() for word in re.split("_", name))


def scala(source: Path = SOURCE) -> str:
    """Return the text of Numbers.scala, with the object lanebox.vocabulary.Numbers."""

    def literal(value: int) -> str:
        return str(value) if value < 1 << 31 else f"{value}L"

    lines = []
    for name, value in read(source).items():
        if isinstance(value, tuple):
            text = f"Seq({', '.join(map(literal, value))})"
        else:
            text = literal(value)
        lines.append(f"  val {camel(name)} = {text}")
    body = "\n".join(lines)
    return f"{HEAD}\npackage lanebox.vocabulary\n\nobject Numbers {{\n{body}\n}}\n"


def cpp(source: Path = SOURCE) -> str:
    """Return the text of the C++ header numbers.hpp."""
    lines = []
    for name, value in read(source).items():
        if isinstance(value, tuple):
            lines.append(f"constexpr uint64_t k{camel(name)}[] = {{{', '.join(map(str, value))}}};")
        else:
            kind = "unsigned" if value < 1 << 32 else "uint64_t"
            lines.append(f"constexpr {kind} k{camel(name)} = {value};")
    body = "\n".join(lines)
    return (
        f"{HEAD}#pragma once\n\n#include <cstdint>\n\nnamespace lanebox::numbers {{\n\n{body}\n\n"
        "}  // namespace lanebox::numbers\n"
    )
