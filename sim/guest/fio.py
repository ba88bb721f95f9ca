# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fetches Debian's fio for the guest: the usual program to measure disks.

Rows of disk speed are compared with it. Promises: the guest gets the program, its loader and
exactly the libraries that the loader asks for, from the same release as the kernel. None of them
needs files of the host. They are fetched once, into build/fio.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from sim.guest import debian, mirror, packages
from sim.guest.debian import LOADER
from sim.guest.packages import BUILD

PROGRAM = "usr/bin/fio"
PLACE = "fio"  # the folder in the guest with fio and its libraries
COMMAND = f"/{PLACE}/{LOADER} --library-path /{PLACE} /{PLACE}/fio"


def closure(root: Path) -> list[tuple[str, Path]]:
    """Return the program fio, its loader and libraries in an unpacked tree.

    They are pairs (name in the guest, path).
    """
    found = [(LOADER, debian.loader(root)), (Path(PROGRAM).name, root / PROGRAM)]
    return [*found, *debian.libraries(root, [root / PROGRAM]).items()]


def keep(tree: Path) -> None:
    """Reduce the unpacked tree to the files of fio that the guest gets, all in one folder."""
    root, kept = tree / "root", tree / "kept"
    kept.mkdir()
    for name, path in closure(root):
        shutil.copy(path, kept / name)
    shutil.rmtree(root)
    kept.rename(root)


def ensure() -> list[tuple[Path, str]]:
    """Return pairs (host path, guest path) of the files that COMMAND needs in the guest.

    They are fetched if they are not there.
    """
    directory = BUILD / "fio" / mirror.suite()
    if not packages.manifest(directory):
        sources = mirror.sources()
        packages.unpack(
            directory,
            "fio",
            sources,
            lambda archive: archive.plan_closure(sources[0][1], "fio"),
            keep,
        )
    return [(path, f"{PLACE}/{path.name}") for path in sorted((directory / "root").iterdir())]
