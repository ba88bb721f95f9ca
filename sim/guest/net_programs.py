# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fetches Debian's iperf3, ethtool and tcpreplay for the guest: the usual programs to measure a
network, to ask a network interface for its counters, and to send the frames of a recording.

Promises: the guest gets the programs, their loader, the libraries that the loader asks for and the
one that the C library loads by name, all from the same release as the kernel. None of them needs
files of the host. They are fetched once, into build/net. In the guest each program is a command, in
/bin.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from sim.guest import SetupError, debian, mirror, packages
from sim.guest.debian import FOLDERS, LOADER
from sim.guest.packages import BUILD

PROGRAMS = ("iperf3", "ethtool", "tcpreplay")
# The C library loads this library by name when a thread is cancelled, and ends the program if it is
# missing.
# iperf3 does that from version 3.17 on.
UNWINDER = "libgcc_s.so.1"
PLACE = "net"  # the folder in the guest with the programs and their libraries
COMMAND = '#!/bin/sh\nexec /{place}/{loader} --library-path /{place} /{place}/{name} "$@"\n'


def program(root: Path, name: str) -> Path:
    """Return the path of a program in an unpacked tree of Debian's packages."""
    return one_of(name, [root / folder / name for folder in FOLDERS])


def one_of(name: str, paths: Iterable[Path]) -> Path:
    """Return the first of the paths that is a file."""
    found = [path for path in paths if path.is_file()]
    if not found:
        raise SetupError(f"Debian's {mirror.suite()} has no {name} where it was before.")
    return found[0]


def closure(root: Path) -> list[tuple[str, Path]]:
    """Return the programs, their loader, the unwinder and the libraries in an unpacked tree.

    They are pairs (name in the guest, path).
    """
    paths = [program(root, name) for name in PROGRAMS]
    unwinder = one_of(UNWINDER, root.rglob(UNWINDER))
    found = [(LOADER, debian.loader(root)), (UNWINDER, unwinder)]
    found += [(path.name, path) for path in paths]
    return [*found, *debian.libraries(root, paths).items()]


def keep(tree: Path) -> None:
    """Reduce the unpacked tree to the files that the guest gets, all in one folder."""
    root, kept = tree / "root", tree / "kept"
    kept.mkdir()
    for name, path in closure(root):
        shutil.copy(path, kept / name)
    for name in PROGRAMS:
        script = kept / f"{name}.sh"
        script.write_text(COMMAND.format(place=PLACE, loader=LOADER, name=name))
        script.chmod(0o755)
    shutil.rmtree(root)
    kept.rename(root)


def ensure() -> list[tuple[Path, str]]:
    """Return pairs (host path, guest path) of the files of the programs.

    They are fetched if they are not there.
    """
    directory = BUILD / "net" / "-".join((mirror.suite(), *PROGRAMS))
    if not packages.manifest(directory):
        sources = mirror.sources()
        packages.unpack(
            directory,
            ", ".join(PROGRAMS),
            sources,
            lambda archive: archive.plan_closure(sources[0][1], *PROGRAMS),
            keep,
        )
    files = sorted((directory / "root").iterdir())
    return [
        (path, f"bin/{path.stem}" if path.suffix == ".sh" else f"{PLACE}/{path.name}")
        for path in files
    ]
