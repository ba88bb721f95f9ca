# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Puts Debian's own programs into the guest (GUEST=debian): Python 3 with NumPy, lspci, fio, ...

Promises: the packages come from the same release as the kernel, and apt has verified them. No step
needs root or runs a maintainer script. No program needs files of the host. Programs lie in usr/bin,
with exactly the libraries that their own loader asks for. They are fetched once, into build/debian.
Limits: documentation and translations are left out, and so are Python's tests and its editor."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from sim.guest import SetupError, mirror, packages
from sim.guest.initramfs import Initramfs
from sim.guest.packages import BUILD
from tools.progress import run

PACKAGES = ("python3", "python3-numpy", "pciutils", "fio", "iperf3", "ethtool")
PROGRAMS = ("fio", "iperf3", "lspci", "setpci", "ethtool")
# Folders in which a release of Debian may have PROGRAMS.
FOLDERS = ("usr/bin", "usr/sbin", "bin", "sbin")
PLACE = "usr/bin"  # The folder in the guest that gets PROGRAMS.
LOADER = "ld-linux-x86-64.so.2"
# The path in the guest at which every program looks for the dynamic loader.
LOADER_PLACE = f"lib64/{LOADER}"
# A folder in the guest in which the dynamic loader looks for libraries.
LIBRARIES = "usr/lib/x86_64-linux-gnu"
MODULES = "usr/lib/python3/dist-packages"
DATA = ("usr/share/misc/pci.ids",)
UNUSED = (
    "**/__pycache__",
    "**/test",
    "**/tests",
    "**/idlelib",
    "**/lib2to3",
    "**/ensurepip",
    "**/tkinter",
    "**/pydoc_data",
    "**/numpy/core/include",
    "**/*.a",
    "**/*.pyi",
)
# MiB of memory of a guest with Debian's programs. While its kernel unpacks the root, memory holds
# the root twice.
MEMORY = 1024


def loader(root: Path) -> Path:
    """Return the path of the dynamic loader in an unpacked tree of Debian's packages."""
    found = next((path for path in root.rglob(LOADER) if path.is_file()), None)
    if not found:
        raise SetupError(f"{root} has no {LOADER}: Debian's C library has moved it.")
    return found


def libraries(root: Path, files: Iterable[Path]) -> dict[str, Path]:
    """Return the libraries that the tree's loader finds for these files.

    The keys are the names that the files ask for, the values the libraries' paths."""
    program = loader(root)
    folders = ":".join(sorted({str(path.parent) for path in root.rglob("*.so*")}))
    found: dict[str, Path] = {}
    for file in files:
        argv = [program, "--library-path", folders, "--list", file]
        asked = subprocess.run(argv, capture_output=True, text=True, check=False)
        if asked.returncode or "not found" in asked.stdout + asked.stderr:
            raise SetupError(
                f"{file.name}'s libraries are not whole:\n{asked.stdout}{asked.stderr}"
            )
        # The key is the name that the program asks for. Mostly that is the name of a symbolic link;
        # the file behind the link is copied.
        pairs = re.findall(r"^\s*(\S+) => (/\S+) \(", asked.stdout, re.MULTILINE)
        found.update((name, Path(path)) for name, path in pairs if Path(path).name != LOADER)
    return found


def keep(tree: Path) -> None:
    """Reduce the unpacked tree to the files that the guest gets, each at its path in the guest."""
    root, kept = tree / "root", tree / "kept"
    for python in root.glob("usr/lib/python3*"):
        shutil.copytree(python, kept / python.relative_to(root), symlinks=True)
    for pattern in UNUSED:
        for path in list(kept.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    interpreter = (root / "usr/bin/python3").resolve()
    for name in PROGRAMS:
        _copy(
            next(filter(Path.exists, (root / f / name for f in FOLDERS)), root / PLACE / name),
            kept / PLACE / name,
        )
    _copy(interpreter, kept / PLACE / interpreter.name)
    for name in DATA:
        _copy(root / name, kept / name)
    binaries = [*(kept / PLACE).iterdir(), *kept.rglob("*.so")]
    (kept / PLACE / "python3").symlink_to(interpreter.name)
    for name, path in libraries(root, binaries).items():
        _copy(path, kept / LIBRARIES / name)
    _copy(loader(root), kept / LOADER_PLACE)
    _compile(kept)
    shutil.rmtree(root)
    kept.rename(root)


def _copy(source: Path, target: Path) -> None:
    if not source.exists():
        raise SetupError(f"Debian's {mirror.suite()} has no {source.name} where it was before.")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def _compile(root: Path) -> None:
    """Compile Python's modules on the host; in the guest that would take a minute.

    The guest's Python does not compare the bytecode with the sources ("unchecked-hash")."""
    argv = [
        root / LOADER_PLACE,
        "--library-path",
        root / LIBRARIES,
        root / PLACE / "python3",
        "-s",
        "-m",
        "compileall",
        "-q",
        "--invalidation-mode",
        "unchecked-hash",
        "-s",
        root,
        "-p",
        "/",
        root / "usr/lib",
    ]
    places = {"PYTHONHOME": str(root / "usr"), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    run(argv, "Debian's Python: compile its modules", patience=packages.PATIENCE, env=places)


def ensure() -> Path:
    """Return the folder whose contents go into the guest's root. Fetch it if it is not there."""
    directory = BUILD / "debian" / mirror.suite()
    if not packages.manifest(directory):
        sources = mirror.sources()
        packages.unpack(
            directory,
            "Debian's programs",
            sources,
            lambda archive: archive.plan_closure(sources[0][1], *PACKAGES),
            keep,
        )
    return directory / "root"


def put(root: Initramfs, package: Path, library: Path) -> None:
    """Add Debian's programs, the card's Python package and its library to a guest's root.

    `package` is the folder of lanebox_host, `library` the path of liblitepcie."""
    tree = ensure()
    libraries_of(tree, library)
    root.tree(tree)
    root.tree(package, f"{MODULES}/{package.name}", lambda path: path.name != "__pycache__")
    root.file(f"{MODULES}/{package.name}/liblitepcie.so.2", library)


def libraries_of(tree: Path, library: Path) -> None:
    """Raise SetupError if `library` needs a newer C library than the guest has.

    The library was built on this machine, whose C library may be newer."""
    try:
        libraries(tree, [library])
    except SetupError as error:
        raise SetupError(
            f"{error}  {library.name} was built for this machine, and does not fit the C library "
            f"of Debian's {mirror.suite()}. Name a newer release: `DEBIAN_SUITE=trixie`."
        ) from None
