# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Remembers which tests passed: `make test` runs them again only when one of their inputs changes.

A test that passed leaves a stamp under build/recalled. The stamp's name is a digest of the test's
name and of its inputs. While a stamp is there the test counts as passed without being run, for at
most MOST_DAYS. `--fresh` runs every test. CI has no stamps, since each of its runs begins in an
empty folder. Tests of `make soak`, and those that did not simply pass, are always run.

The inputs are whole folders of the repository, because no list of single files would stay right:

models   marker `model`             the Python of gateware, tools/verilog
board    tests of BOARD_TESTS       gateware, targets, sim, tools, examples, bringup, firmware
all      every other test           every file of the repository but Markdown

A module in a folder of BOARD_TESTS is of the group `board` if neither the module nor any module
that it imports refers to software, to the guest or to programs that start them: BEYOND_BOARD. So a
change of the driver or of the library runs no test of the gateware alone. Each group also has
the helpers in the folders of tests, the test's own module with the test modules that it imports,
the seed, the Python packages and Debian's packages of this machine, and the path of the tshark that
a test would start. A module that names a Markdown file has all of them. A module that lists the
repository's files, or that names tests, has the other tests, too.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STAMPS = ROOT / "build" / "recalled"
PACKAGES = Path("/var/lib/dpkg/status")
MOST_DAYS = 7
MODEL_FOLDERS = ("gateware/", "tools/locks.py", "tools/testing/", "tools/verilog/")
# The files of software/ on which the board depends: the messages on its socket, and the layout of
# the capability table.
SHARED = (
    "software/liblitepcie/sim/vfio_user_protocol.h",
    "software/uapi/litepcie_capability.h",
)
BOARD_TESTS = tuple(ROOT / name / "test" for name in ("sim", "gateware", "targets", "bringup"))
BOARD_FOLDERS = (
    *("gateware/", "targets/", "sim/", "tools/", "examples/", "bringup/", "firmware/"),
    *("pyproject.toml", *SHARED),
)
# Matches a string of a module whose tests read other tests: the module lists the files of the
# repository, or names a module of tests.
READS_TESTS = re.compile(r"^ls-files$|^([\w/]+/)?test_\w+(\.py|::\w+)")
# Matches a string or an import that refers to more than a board. No module of the group `board` has
# one, and no module that it imports.
BEYOND_BOARD = re.compile(
    r"^software\b|/software\b|liblitepcie|litepcie_util|software_build|sim\.guest|^guest$|"
    r"^make \w|sim\.(run|bench|util|check|host|card|artefacts|clients\.programs)\b"
)


@cache
def _files() -> dict[str, bytes]:
    """Return a digest of the contents of each file that belongs to the repository, by file name."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    names = sorted(name for name in listed.decode().split("\0") if (ROOT / name).is_file())
    return {name: hashlib.sha256((ROOT / name).read_bytes()).digest() for name in names}


@cache
def _machine() -> bytes:
    """Return a digest of what every test depends on beside files: Python, packages, the seed, and
    which tshark is the first in PATH (tools/testing/wireshark.py puts another one there)."""
    packages = sorted(f"{found.name} {found.version}" for found in distributions())
    seed = os.environ.get("LANEBOX_SEED", "0")
    tshark = shutil.which("tshark") or ""
    digest = hashlib.sha256("\n".join([sys.version, seed, tshark, *packages]).encode())
    if PACKAGES.exists():
        digest.update(PACKAGES.read_bytes())
    return digest.digest()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the names of all modules that a Python file imports.

    `from a import b` gives `a.b`, too.
    """
    found = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


@cache
def is_in_test(name: str) -> bool:
    """Return whether the file is in a folder of tests, like sim/test or gateware/test/dma."""
    return name.split("/")[1:2] == ["test"]


@cache
def is_module(name: str) -> bool:
    """Return whether the name of a file is that of a module of tests, test_*.py."""
    return name.rpartition("/")[2].startswith("test_")


@cache
def _helpers() -> dict[str, list[str]]:
    """Return the Python files in the folders of tests, by the module name that imports them."""
    found: dict[str, list[str]] = {}
    for name in _files():
        if is_in_test(name) and name.endswith(".py"):
            found.setdefault(Path(name).stem, []).append(name)
    return found


@cache
def _places(name: str) -> tuple[Path, ...]:
    """Return the files of the repository that an import of this module name may run."""
    parts = name.split(".")
    found = [ROOT / helper for helper in _helpers().get(parts[0], ())]
    if parts[0] in ("sim", "tools") or "test" in parts:
        for many in range(1, len(parts) + 1):
            place = ROOT.joinpath(*parts[:many])
            found += [place.with_suffix(".py"), place / "__init__.py"]
    return tuple(place for place in found if place.is_file())


@cache
def _imported(file: Path) -> frozenset[Path]:
    """Return the files that the imports of a Python file may run."""
    return frozenset(place for name in imports(file) for place in _places(name))


@cache
def closure(path: Path) -> tuple[Path, ...]:
    """Return a module and the files of tests, sim and tools that it imports, also indirectly."""
    found, new = set(), [path]
    while new:
        file = new.pop()
        found.add(file)
        new += sorted(_imported(file) - found - set(new))
    return tuple(sorted(found))


@cache
def _texts(path: Path) -> tuple[str, ...]:
    """Return all string constants of a Python file but its docstrings."""
    tree = _tree(path)
    whole = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = [node.body[0] for node in ast.walk(tree) if isinstance(node, whole) and node.body]
    docs = {id(node.value) for node in first if isinstance(node, ast.Expr)}
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return tuple(
        node.value for node in strings if isinstance(node.value, str) and id(node) not in docs
    )


def beyond_board(path: Path) -> str:
    """Return the first word by which a module, or one that it imports, refers to more than a board.

    The result is "" if no such word is found.
    """
    return next(filter(None, map(_beyond_board, closure(path))), "")


@cache
def _beyond_board(file: Path) -> str:
    for text in (*_texts(file), *imports(file)):
        if text not in SHARED and (found := BEYOND_BOARD.search(text)):
            return f"{file.name}: {found[0]}"
    return ""


def check_model(path: Path) -> None:
    """Raise AssertionError if a test module marked `model` imports more than gateware's Python."""

    def is_beyond(file: Path) -> bool:
        name = str(file.relative_to(ROOT))
        return name.startswith(("sim/", "tools/")) and not name.startswith(
            (*MODEL_FOLDERS, "tools/__init__.py")
        )

    others = [
        str(file.relative_to(ROOT))
        for file in closure(path)
        if file != path and (file.name.startswith("test_") or is_beyond(file))
    ]
    others += ["subprocess"] if "subprocess" in imports(path) else []
    assert not others, f"{path.name} is marked `model`, and imports {', '.join(others)}"


@cache
def _names_markdown(file: Path) -> bool:
    return any(".md" in text or "README" in text for text in _texts(file))


@cache
def _reads_tests(file: Path) -> bool:
    return any(map(READS_TESTS.match, _texts(file)))


def inputs(path: Path, is_model: bool) -> list[str]:
    """Return the names of the repository's files on which the tests of a module depend."""
    own = {str(file.relative_to(ROOT)) for file in closure(path)}
    folders = ("",)
    if is_model:
        check_model(path)
        folders = MODEL_FOLDERS
    elif not set(BOARD_TESTS).isdisjoint(path.parents) and not beyond_board(path):
        folders = BOARD_FOLDERS
    markdown, tests = (any(map(asks, closure(path))) for asks in (_names_markdown, _reads_tests))

    def counts(name: str) -> bool:
        if name.endswith(".md"):
            return markdown
        if is_in_test(name):
            return tests or name in own or not is_module(name)
        if is_model and not name.endswith(".py"):
            return False
        return name == "conftest.py" or name.startswith(folders)

    return [name for name in _files() if counts(name)]


@cache
def _module(path: Path, is_model: bool) -> bytes:
    """Return a digest of everything on which the results of a test module depend."""
    digest = hashlib.sha256(_machine() + path.read_bytes())
    for name in inputs(path, is_model):
        digest.update(name.encode() + b"\0" + _files()[name])
    return digest.digest()


def stamp(path: Path, name: str, is_model: bool) -> Path:
    """Return the path of the test's stamp.

    The stamp exists if the test passed with these inputs.
    """
    digest = hashlib.sha256(_module(path, is_model) + name.encode()).hexdigest()
    return STAMPS / digest[:2] / digest[2:32]


def has_passed(place: Path) -> bool:
    """Return whether the stamp of a passed test exists at `place` and is younger than MOST_DAYS
    days.
    """
    try:
        return time.time() - place.stat().st_mtime < MOST_DAYS * 86400
    except FileNotFoundError:
        return False


def note(place: Path, passed: bool) -> None:
    """Leave the stamp of a test that passed, or remove the stamp of a test that failed."""
    if passed:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    else:
        place.unlink(missing_ok=True)


def forget() -> None:
    """Remove the stamps of tests that passed more than MOST_DAYS days ago."""
    for place in STAMPS.glob("??/*"):
        if not has_passed(place):
            place.unlink(missing_ok=True)
