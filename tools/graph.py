# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Prints which part of the tree uses which: imports of Python and Scala, and includes of C++.

The C files of software/ are checked, too, and not printed: a file uses the file that defines a
function or a variable it names, and a header uses the headers it includes.

A part is a folder of the first two levels (of the first three in gateware/), a folder of sim/board,
or a single module of gateware/, tools/ or sim/. Tests are left out, but no part may import one. The
parts are printed from the bottom up: a part stands above all that it uses. That is possible only
without a circle. The Python files of one folder may not use each other in a circle, either.

.venv/bin/python -m tools.graph

Exit status 1: there is a circle, or an import that RULES forbids.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from tools import recall

ROOT = Path(__file__).resolve().parents[1]
SINGLE = ("gateware", "sim", "tools")  # In these folders each Python module is a part of its own.
# Pairs (user, used): no part whose path begins with `user` may use a part whose path begins with
# `used`.
RULES = (
    ("gateware", "sim"),
    ("gateware", "targets"),
    ("gateware", "bringup"),
    ("gateware", "software"),
    ("tools/verilog", "gateware"),
    ("bringup", "targets"),
    ("bringup", "sim"),
    ("software", "sim"),
    ("sim/rows", "sim/run.py"),
    ("sim/rows", "sim/bench.py"),
)
# The package of an import. Packages begin with a small letter, and have the names of their folders.
SCALA = re.compile(r"^import lanebox\.([a-z]\w*(?:\.[a-z]\w*)*)", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([\w/.]+)"', re.MULTILINE)
BOARD = Path("sim/board")
# In C, names in comments, strings and characters are no uses, and neither are members and tags.
NOISE = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.DOTALL)
NAME = re.compile(r"(?<!struct )(?<!enum )(?<!union )(?<!->)(?<!\.)\b[a-zA-Z_]\w*")
# Folders of headers that files of other folders include.
HEADERS = (Path("software/uapi"), Path("software/tools/litepcie_util"))
# A function or a variable that other files may use: its definition begins in the first column.
DEFINED = re.compile(
    r"^(?!(?:static|extern|typedef|_?static_assert)\b)[a-zA-Z_][\w \t*]*?\b(\w+)"
    r"(?:\([^;{}]*\)\s*\{|(?:\[[^\]\n]*\])?(?: =[^=]|;))",
    re.MULTILINE,
)

Arrows = dict[tuple[str, str], set[str]]


def tracked() -> list[Path]:
    """Return all files of the repository but those that git ignores, relative to its root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [Path(line) for line in listed.splitlines() if (ROOT / line).is_file()]


def is_test(path: Path) -> bool:
    """Return whether the file is a test, or is used by tests only."""
    return "test" in path.parts[:-1] or path.is_relative_to("tools/testing")


def part(path: Path) -> str:
    """Return the part of the tree that a file belongs to."""
    if path.parent == BOARD or path.is_relative_to(BOARD):
        return "/".join(path.parts[:3]) if len(path.parts) > 3 else str(BOARD)
    if len(path.parts) == 2 and path.parts[0] in SINGLE and path.name != "__init__.py":
        return str(path)
    return "/".join(path.parts[:-1][: 3 if path.parts[0] == "gateware" else 2])


def python_modules() -> dict[str, Path]:
    """Return the file of each Python module of the repository, by the module's name."""
    return {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): path
        for path in tracked()
        if path.suffix == ".py"
    }


def python_imports(path: Path, modules: dict[str, Path]) -> set[Path]:
    """Return the files of the repository that a Python file imports, also inside functions."""
    found = set()
    for name in recall.imports(ROOT / path):
        while name and name not in modules:
            name = name.rpartition(".")[0]
        if name:
            found.add(modules[name])
    return found


def used(path: Path, modules: dict[str, Path]) -> set[str]:
    """Return the parts of the tree that a file uses, also its own part."""
    if path.suffix == ".py":
        files = python_imports(path, modules)
        return {"test" if is_test(file) else part(file) for file in files if file.parent.name}
    text = (ROOT / path).read_text()
    if path.suffix == ".scala":
        return {"gateware/" + name.replace(".", "/") for name in SCALA.findall(text)}
    return {part(BOARD / name) for name in INCLUDE.findall(text) if (ROOT / BOARD / name).exists()}


def arrows() -> Arrows:
    """Return, for each pair (user, used) of parts, the files of `user` that use `used`."""
    files = [path for path in tracked() if path.parent.name and not is_test(path)]
    modules = python_modules()
    found: Arrows = defaultdict(set)
    for path in files:
        inside = path.suffix == ".scala" and path.parts[0] == "gateware"
        inside |= path.suffix in (".cpp", ".hpp") and path.is_relative_to(BOARD)
        if path.suffix == ".py" or inside:
            for whom in used(path, modules) - {part(path)}:
                found[part(path), whom].add(str(path))
    return found


def file_arrows() -> Arrows:
    """Return, for each pair (user, used) of Python files in one folder, the imports. A package's
    `__init__.py` is left out: an import of the package names it, too.
    """
    modules = python_modules()
    found: Arrows = defaultdict(set)
    for path in modules.values():
        if path.name != "__init__.py":
            for whom in python_imports(path, modules):
                if whom.parent == path.parent and whom.name not in (path.name, "__init__.py"):
                    found[str(path), str(whom)].add("import")
    return found


def c_files() -> dict[Path, str]:
    """Return the text of each C file and header of software/, without tests."""
    paths = [path for path in tracked() if path.parts[0] == "software" and not is_test(path)]
    return {path: (ROOT / path).read_text() for path in paths if path.suffix in (".c", ".h")}


def c_arrows() -> Arrows:
    """Return, for each pair (user, used) of C files or of headers, the names that `user` takes from
    `used`.

    A name is looked up in the driver, the library or the tools, to which the file belongs. If
    several files define it, as each program has a main(), those of the file's own program count.
    """
    texts = c_files()
    owners: dict[tuple[tuple[str, ...], str], set[Path]] = defaultdict(set)
    plain = {path: NOISE.sub("", text) for path, text in texts.items() if path.suffix == ".c"}
    for path, text in plain.items():
        for name in DEFINED.findall(text):
            owners[path.parts[:2], name].add(path)
    found: Arrows = defaultdict(set)
    for path, text in plain.items():
        for name in set(NAME.findall(text)):
            all_owners = owners.get((path.parts[:2], name), {path})
            near = {owner for owner in all_owners if owner.parts[:3] == path.parts[:3]}
            if path not in all_owners:
                for owner in near or all_owners:
                    found[str(path), str(owner)].add(name)
    for path, text in texts.items():
        for name in INCLUDE.findall(text) if path.suffix == ".h" else ():
            parents = (path.parent, Path(*path.parts[:2]), Path(*path.parts[:3]))
            for folder in (*parents, *HEADERS):
                included = Path(os.path.normpath(folder / name))
                if included in texts:
                    found[str(path), str(included)].add("#include")
                    break
    return found


def circles(found: Arrows) -> list[str]:
    """Return a line for each arrow of a circle, or between two."""
    left, before = set(found), 0
    while len(left) != before:
        before = len(left)
        users, used_by_some = {a for a, _ in left}, {b for _, b in left}
        left = {(a, b) for a, b in left if a in used_by_some and b in users}
    return [f"a circle: {a} uses {b}: {', '.join(sorted(found[a, b]))}" for a, b in sorted(left)]


def levels(found: Arrows) -> tuple[list[list[str]], list[str]]:
    """Return the parts of the tree from the bottom up, and the parts that are in a circle or above
    one.
    """
    parts = {name for pair in found for name in pair}
    below = {name: {whom for who, whom in found if who == name} for name in parts}
    ordered: list[list[str]] = []
    while ready := sorted(name for name in parts if not below[name] & parts):
        ordered.append(ready)
        parts -= set(ready)
    return ordered, sorted(parts)


def forbidden(found: Arrows) -> list[str]:
    """Return a line for each use of one part by another that RULES or the rule of tests forbids."""
    lines = []
    for (who, whom), files in sorted(found.items()):
        broken = any(who.startswith(a) and whom.startswith(b) for a, b in RULES)
        if broken or whom == "test":
            lines.append(f"{who} may not use {whom}: {', '.join(sorted(files))}")
    return lines


def main() -> int:
    """Print the parts from the bottom up. Return 1 if there is a circle or a forbidden use."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    found = arrows()
    ordered, circle = levels(found)
    for number, names in enumerate(ordered):
        print(f"level {number}")
        for name in names:
            uses = sorted(whom for who, whom in found if who == name)
            print(f"  {name}" + (f"  <-  {', '.join(uses)}" if uses else ""))
    problems = forbidden(found)
    if circle:
        problems.append(f"a circle, or above one: {', '.join(circle)}")
    problems += circles(file_arrows()) + circles(c_arrows())
    for line in problems:
        print(line, file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
