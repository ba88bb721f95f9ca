# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Debian's fio for the guest: what others measure disks with, and what ours is compared with.

Promises: program, loader and exactly the libraries that the loader asks for, from the release that
the kernel is from; nothing of it needs the machine's own. It is fetched once, into build/fio.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from sim.guest import SetupError, mirror, packages
from sim.guest.packages import BUILD

PROGRAM = "usr/bin/fio"
PLACE = "fio"  # in the guest
LOADER = "ld-linux-x86-64.so.2"
COMMAND = f"/{PLACE}/{LOADER} --library-path /{PLACE} /{PLACE}/fio"


def closure(root: Path) -> list[Path]:
    """Program, loader and libraries in an unpacked tree, as its own loader finds them."""
    folders = {path.parent for path in root.rglob("*.so*")}
    found = next((path for path in root.rglob(LOADER) if path.is_file()), None)
    if not found:
        raise SetupError(f"{root} has no {LOADER}: Debian's C library has moved it.")
    argv = [found, "--library-path", ":".join(map(str, folders)), "--list", root / PROGRAM]
    asked = subprocess.run(argv, capture_output=True, text=True, check=False)
    if asked.returncode or "not found" in asked.stdout:
        raise SetupError(f"fio's libraries are not whole:\n{asked.stdout}{asked.stderr}")
    # Not as files: most are symbolic links, and the guest finds a library by the name asked for.
    names = re.findall(r"=> (/\S+) \(", asked.stdout)
    return [root / PROGRAM, found, *(Path(name) for name in names if not name.endswith(LOADER))]


def keep(tree: Path) -> None:
    """Leave nothing in the tree but what the guest gets, in one folder."""
    root, kept = tree / "root", tree / "kept"
    kept.mkdir()
    for path in closure(root):
        shutil.copy(path, kept / path.name)
    shutil.rmtree(root)
    kept.rename(root)


def ensure() -> list[tuple[Path, str]]:
    """Pairs (host path, guest path) for a run in which COMMAND is to work."""
    directory = BUILD / "fio" / mirror.suite()
    if not packages.manifest(directory):
        sources = mirror.sources()
        packages.unpack(
            directory, "fio", sources,
            lambda archive: archive.plan_closure("fio", sources[0][1]), keep,
        )  # fmt: skip
    return [(path, f"{PLACE}/{path.name}") for path in sorted((directory / "root").iterdir())]
