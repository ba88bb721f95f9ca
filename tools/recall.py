# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`make test` runs a test again when something that it depends on has changed since it passed.

A test that passed leaves a stamp under build/recalled. The stamp's name is a digest of the test's
name and of its inputs. While a stamp is there the test counts as passed without being run, for at
most MOST_DAYS. `--fresh` runs every test. CI has no stamps, since each of its runs begins in an
empty folder. Tests of `make soak`, and those that did not simply pass, are always run.

The inputs are whole folders of the repository, because no list of single files would stay right:

    models   test/, marker `model`      gateware's Python
    board    sim/test                   gateware, targets, sim, tools, examples
    all      every other test           every file of the repository but Markdown

A module of sim/test is of the group `board` if nothing in it, or in what it imports, refers to
software, the guest or what starts them: BEYOND_BOARD. Each group also has the helpers in test/
and sim/test, the test's own module with the test modules that it imports, the seed, the Python
packages and Debian's packages of this machine. A module that names a Markdown file has all of them.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
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
TEST_FOLDERS = ("test/", "sim/test/")
BOARD_FOLDERS = ("gateware/", "targets/", "sim/", "tools/", "examples/")
# No module of the group `board`, and nothing that it imports, has a string or an import like this.
BEYOND_BOARD = re.compile(
    r"^software\b|/software\b|liblitepcie|litepcie_util|software_build|sim\.guest|^guest$|"
    r"^make \w|sim\.(run|bench|util|check|host|card|artefacts|clients)\b"
)


@cache
def _files() -> dict[str, bytes]:
    """A digest of each file that belongs to the repository, by name."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    names = sorted(name for name in listed.decode().split("\0") if (ROOT / name).is_file())
    return {name: hashlib.sha256((ROOT / name).read_bytes()).digest() for name in names}


@cache
def _machine() -> bytes:
    """What every test depends on beside files."""
    packages = sorted(f"{found.name} {found.version}" for found in distributions())
    seed = os.environ.get("LANEBOX_SEED", "0")
    digest = hashlib.sha256("\n".join([sys.version, seed, *packages]).encode())
    if PACKAGES.exists():
        digest.update(PACKAGES.read_bytes())
    return digest.digest()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> set[str]:
    """The full names of all modules that a file imports, `a.b` also for `from a import b`."""
    found = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _places(name: str) -> list[Path]:
    """The files of the repository that an import of this name may run."""
    parts = name.split(".")
    found = [ROOT / folder / f"{parts[0]}.py" for folder in TEST_FOLDERS]
    if parts[0] in ("sim", "tools"):
        for many in range(1, len(parts) + 1):
            place = ROOT.joinpath(*parts[:many])
            found += [place.with_suffix(".py"), place / "__init__.py"]
    return [place for place in found if place.is_file()]


@cache
def closure(path: Path) -> tuple[Path, ...]:
    """A module and the files of test, sim and tools that it imports, directly or not."""
    found, new = set(), [path]
    while new:
        file = new.pop()
        found.add(file)
        places = {place for name in imports(file) for place in _places(name)}
        new += sorted(places - found - set(new))
    return tuple(sorted(found))


@cache
def _texts(path: Path) -> tuple[str, ...]:
    """A file's strings but its docstrings."""
    tree = _tree(path)
    whole = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = [node.body[0] for node in ast.walk(tree) if isinstance(node, whole) and node.body]
    docs = {id(node.value) for node in first if isinstance(node, ast.Expr)}
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return tuple(node.value for node in strings
        if isinstance(node.value, str) and id(node) not in docs)  # fmt: skip


def beyond_board(path: Path) -> str:
    """The first word of a module's closure that refers to more than a board; "" if none does."""
    for file in closure(path):
        for text in (*_texts(file), *imports(file)):
            if found := BEYOND_BOARD.search(text):
                return f"{file.name}: {found[0]}"
    return ""


def check_model(path: Path) -> None:
    """An AssertionError if a module with the marker `model` needs more than gateware's Python."""
    folders = [ROOT / folder for folder in ("sim", "tools")]
    others = [
        str(file.relative_to(ROOT))
        for file in closure(path)
        if file != path and (file.name.startswith("test_") or set(folders) & set(file.parents))
    ]
    others += ["subprocess"] if "subprocess" in imports(path) else []
    assert not others, f"{path.name} is marked `model`, and imports {', '.join(others)}"


def _names_markdown(path: Path) -> bool:
    return any(".md" in text or "README" in text for file in closure(path) for text in _texts(file))


def inputs(path: Path, is_model: bool) -> list[str]:
    """The names of the repository's files on which a module's tests depend."""
    own = {str(file.relative_to(ROOT)) for file in closure(path)}
    folders = ("",)
    if is_model:
        check_model(path)
        folders = ("gateware/",)
    elif path.parent == ROOT / "sim" / "test" and not beyond_board(path):
        folders = BOARD_FOLDERS
    markdown = _names_markdown(path)

    def counts(name: str) -> bool:
        if name.endswith(".md"):
            return markdown
        if name.startswith(TEST_FOLDERS):
            return name in own or not Path(name).name.startswith("test_")
        if is_model and not name.endswith(".py"):
            return False
        return name == "conftest.py" or name.startswith(folders)

    return [name for name in _files() if counts(name)]


@cache
def _module(path: Path, is_model: bool) -> bytes:
    """A digest of all that a module's tests depend on."""
    digest = hashlib.sha256(_machine() + path.read_bytes())
    for name in inputs(path, is_model):
        digest.update(name.encode() + b"\0" + _files()[name])
    return digest.digest()


def stamp(path: Path, name: str, is_model: bool) -> Path:
    """Where the stamp of this test is, or would be."""
    digest = hashlib.sha256(_module(path, is_model) + name.encode()).hexdigest()
    return STAMPS / digest[:2] / digest[2:32]


def has_passed(place: Path) -> bool:
    """Whether the test passed with these inputs, in the last MOST_DAYS."""
    try:
        return time.time() - place.stat().st_mtime < MOST_DAYS * 86400
    except FileNotFoundError:
        return False


def note(place: Path, passed: bool) -> None:
    """Leave a stamp, or take it away."""
    if passed:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    else:
        place.unlink(missing_ok=True)


def forget() -> None:
    """Remove the stamps that are too old to count."""
    for place in STAMPS.glob("??/*"):
        if not has_passed(place):
            place.unlink(missing_ok=True)
