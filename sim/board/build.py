#!/usr/bin/env python3
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Build the board process: verilate the gateware and compile it together with the model.

A board is kept under build/board/ by the hash of its Verilog, C++ sources, tools and flags, and is
not compiled again while these stay the same. Memory images are not compiled in: they lie beside the
executable, which reads them when it starts. The file `gateware.options` lies there, too. It has the
options with which the model of the hard block is as this gateware expects it."""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from sim.board import border
from sim.board.pins import check_pins
from sim.errors import BuildError
from tools import c_header, numbers
from tools.locks import locked
from tools.progress import Step, stop

ROOT = Path(__file__).resolve().parents[2]
BOARD = ROOT / "sim" / "board"
CACHE = ROOT / "build" / "board"
# The headers of software/ that the board's sources include.
SHARED = (c_header.VFIO_USER, c_header.CAPABILITY)
# The model's folders. A file includes only what is in its own folder, or in one to the left.
MODEL = ("text", "link", "trace", "faults", "host", "block")
# All of the board's folders in that order: the machine answers the socket, and commands steer it.
LAYERS = (*MODEL, "card", "vfio_user", "port", "machine", "control")
# How many built boards are kept, of a few MB each. The test suite needs about ten at a time.
KEPT = 40

VERILATOR_FLAGS = [
    "--cc",
    "--exe",
    "--top-module",
    "lanebox",
    "--prefix",
    "Vlanebox",
    "-O3",
    "--x-assign",
    "unique",
    "--x-initial",
    "unique",
    "--noassert",
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-style",
    "-Wwarn-WIDTH",  # check_pins() needs Verilator's warnings about the widths of ports
]
# Verilator's own default is -Os, which halves the simulation speed. A board with sanitizers or
# waves makes short runs, and -O2 takes longer to compile than it saves.
OPTIMISATION = ["OPT_FAST=-O2", "OPT_SLOW=-O0", "OPT_GLOBAL=-O2"]
QUICK = ["OPT_FAST=-O1", "OPT_SLOW=-O0", "OPT_GLOBAL=-O1"]
CXX_FLAGS = "-std=c++17 -Wall -Wextra"
# -g is left out: debug information contains the build's folder, so ccache would never hit.
SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"

# From version 5.040 on Verilator never runs an always block that reads no signal. Signals that such
# a block sets to constants keep their initial value, and this warning is the only sign of it.
# tools.verilog.litex_verilog writes no such blocks.
DEADLY_WARNINGS = re.compile(r"^%(?:Warning|Error)-ALWNEVER.*$", re.MULTILINE)


# Verilog of others may make variables public to C++ by comments. The board reads none of them, and
# Verilator would compute all logic behind such a variable at each edge of any clock: C++ might have
# written it.
PUBLIC = re.compile(r"/\*\s*verilator public\w*\s*\*/")


def build_board(
    gateware: Path, waves: bool = False, quiet: bool = False, sanitize: bool = False
) -> Path:
    """Build the board for the gateware in the folder `gateware` (made by targets/sim.py --build).

    Returns the executable. Nothing is compiled if the same content was built before. With
    `sanitize` the board fails at the first error that AddressSanitizer or UBSan finds, and at its
    end if memory has leaked; it is several times slower. Raises BuildError."""
    sources = _gateware_sources(gateware)
    images = {path.name: path.read_bytes() for path in (gateware / "gateware").glob("*.init")}
    images["gateware.options"] = _options(gateware).encode()
    flags = [*VERILATOR_FLAGS, *(["--trace-fst"] if waves else [])]
    flags += ["-CFLAGS", CXX_FLAGS]
    if sanitize:
        flags += ["-CFLAGS", SANITIZERS, "-LDFLAGS", SANITIZERS]
    optimisation = QUICK if sanitize or waves else OPTIMISATION
    digest = _digest(sources, [*flags, *optimisation])
    binary = CACHE / digest / "board"
    # Boards of other content are built at the same time: a lock has the first digits of the digest
    # in its name.
    with locked(CACHE.with_name(".board-locks") / digest[:2]):
        if not _is_kept(binary):
            _compile(binary.parent, sources, flags, optimisation, quiet)
            with _cache_lock():
                forget(CACHE, KEPT)
    return _beside_images(binary, images)


def _cache_lock() -> AbstractContextManager:
    """Return the lock under which boards are removed, and marked as used. It is never held long."""
    return locked(CACHE.with_name(".board.lock"))


def _is_kept(binary: Path) -> bool:
    """Return whether the executable was built before. If so, mark it as the one used last."""
    with _cache_lock():
        kept = binary.exists()
        if kept:
            os.utime(binary.parent)
    return kept


def _options(gateware: Path) -> str:
    """Return the text of the file gateware.options, made from the SoC's constants.

    It has one option of the board a line: NAME [VALUE]."""
    described = gateware / "csr.json"
    constants = json.loads(described.read_text())["constants"] if described.exists() else {}
    lines = ["straddle"] if constants.get("pcie_rc_straddle") else []
    lines += ["flr"] if constants.get("pcie_flr") else []
    if bar2 := constants.get("pcie_bar2_size"):
        lines.append(f"bar2 {bar2}")
    if vectors := constants.get("pcie_msix_vectors"):
        table, pending = (constants[f"pcie_msix_{name}"] for name in ("table", "pending"))
        lines.append(f"msix {vectors}:0:{table:#x}:{pending:#x}")
    return "".join(f"{line}\n" for line in lines)


def _gateware_sources(gateware: Path) -> list[Path]:
    listing = gateware / "gateware" / "sources.txt"
    if not listing.exists():
        raise BuildError(f"{listing} is missing: run targets/sim.py --build first")
    return [_without_public(Path(line)) for line in listing.read_text().split()]


def _without_public(source: Path) -> Path:
    """Return the path of the Verilog `source`, or of a copy in which no variable is public."""
    text = source.read_text()
    plain = PUBLIC.sub("", text)
    if plain == text:
        return source
    digest = hashlib.sha256(plain.encode()).hexdigest()[:16]
    copy = ROOT / "build" / "plain" / digest / source.name
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        staging = copy.with_name(f"{copy.name}.{os.getpid()}")
        staging.write_text(plain)
        staging.replace(copy)
    return copy


def numbers_header() -> Path:
    """Write the header link/numbers.hpp, if it is not there, and return its path.

    The header has the numbers of gateware/numbers.py for C++. Its folder is named after a hash of
    its content."""
    text = numbers.cpp()
    folder = ROOT / "build" / "numbers" / hashlib.sha256(text.encode()).hexdigest()[:16]
    header = folder / "link" / "numbers.hpp"
    if not header.exists():
        header.parent.mkdir(parents=True, exist_ok=True)
        staging = header.with_name(f"{header.name}.{os.getpid()}")
        staging.write_text(text)
        staging.replace(header)
    return header


def include_flags() -> list[str]:
    """Return the compiler options -I for the board's headers, with those that are generated."""
    made = (numbers_header().parents[1], border.files())
    return [f"-I{folder}" for folder in (BOARD, *made, *(path.parent for path in SHARED))]


def model_files(suffix: str) -> list[Path]:
    """Return the source files of the hard block's model (link, host, pins) with this suffix.

    The Verilated gateware and the vfio-user server are not among them."""
    made = [numbers_header()] if suffix == ".hpp" else []
    return [path for part in MODEL for path in sorted((BOARD / part).glob(f"*{suffix}"))] + made


def _board_sources() -> list[Path]:
    files = (p for p in BOARD.rglob("*") if p.suffix in {".cpp", ".hpp", ".sv", ".v"})
    # The program in the folder `ideal` is not part of the board, so its sources are left out.
    own = sorted(p for p in files if p.parent.name != "ideal")
    return [*own, *sorted(border.files().iterdir()), numbers_header(), *SHARED]


def _version(program: str) -> str:
    path = shutil.which(program)
    if not path:
        raise BuildError(f"{program} is not installed; `make setup` installs what is missing")
    return subprocess.run([path, "--version"], capture_output=True, text=True).stdout


def _digest(sources: list[Path], flags: list[str]) -> str:
    digest = hashlib.sha256()
    for text in [*flags, _version("verilator"), _version("g++")]:
        digest.update(text.encode() + b"\0")
    named = [(path.name, path) for path in sources]
    # The board's own sources include each other by folder and file name, so the hash has both.
    named += [(f"{path.parent.name}/{path.name}", path) for path in _board_sources()]
    for name, path in named:
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _compile(
    directory: Path, sources: list[Path], flags: list[str], optimisation: list[str], quiet: bool
) -> None:
    # The board is built in this folder, which is renamed to `directory` when it is complete.
    work = directory.with_name(directory.name + f".{os.getpid()}")
    work.mkdir(parents=True)
    mine = [str(p) for p in _board_sources() if p.suffix not in {".hpp", ".h"}]
    try:
        _run(
            "board: verilate the gateware",
            quiet,
            [
                "verilator",
                *flags,
                "-Mdir",
                str(work),
                "-CFLAGS",
                " ".join(include_flags()),
                "-o",
                "board",
                *map(str, sources),
                *mine,
            ],
            work / "verilate.log",
            check_verilate_log,
        )
        jobs = str(min(os.cpu_count() or 1, 4))
        cache = ["OBJCACHE=ccache"] if shutil.which("ccache") else []
        _run(
            "board: compile",
            quiet,
            ["make", "-C", str(work), "-f", "Vlanebox.mk", "-j", jobs, *optimisation, *cache],
            work / "make.log",
        )
        _keep(work, directory)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _keep(work: Path, directory: Path) -> None:
    """Move the executable and its logs to `directory`, which appears only when complete."""
    kept = work.with_name(work.name + ".kept")
    kept.mkdir()
    for name in ("board", "verilate.log", "make.log"):
        (work / name).rename(kept / name)
    kept.rename(directory)


def forget(cache: Path, most: int) -> None:
    """Remove the least recently used boards from the folder `cache` until `most` are left."""
    # A folder with a suffix is one in which a board is still being built.
    boards = [path for path in cache.iterdir() if not path.suffix]
    boards.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for board in boards[most:]:
        shutil.rmtree(board, ignore_errors=True)


def check_verilate_log(log: str) -> None:
    """Raise BuildError if Verilator's log has a warning that makes the simulation wrong.

    Such a warning is about a port that does not fit its module, or about an always block that
    Verilator would never run."""
    check_pins(log)
    found = DEADLY_WARNINGS.search(log)
    if found:
        raise BuildError(
            f"Verilator would leave a block of the gateware unevaluated: {found.group(0)}\n"
            "The Verilog was not written through tools.verilog.litex_verilog."
        )


def _run(
    what: str,
    quiet: bool,
    command: list[str],
    log: Path,
    check: Callable[[str], None] = lambda text: None,
) -> None:
    """Run `command` as a step of the progress display. Its output goes to the file `log`.

    `check` gets the output before the exit status is looked at, since an error that it raises
    explains more than the exit status."""
    with Step(what, patience=math.inf if quiet else 0) as step, log.open("w") as out:
        # With CCACHE_BASEDIR another clone's objects serve as well.
        environment = dict(os.environ, CCACHE_BASEDIR=str(ROOT))
        child = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
        try:
            while child.poll() is None:
                step.show()
                time.sleep(0.05)
        finally:
            stop(child)
        output = log.read_text(errors="replace")
        check(output)
        if child.returncode:
            tail = "\n".join(output.splitlines()[-15:])
            raise BuildError(f"{command[0]} failed with status {child.returncode}:\n{tail}")


def _beside_images(binary: Path, images: dict[str, bytes]) -> Path:
    digest = hashlib.sha256()
    for name, content in sorted(images.items()):
        digest.update(name.encode() + b"\0" + content)
    directory = binary.parent / digest.hexdigest()[:16]
    if not directory.exists():
        staging = directory.with_name(directory.name + f".{os.getpid()}")
        staging.mkdir()
        os.link(binary, staging / "board")
        for name, content in images.items():
            (staging / name).write_bytes(content)
        try:
            staging.rename(directory)
        except OSError:
            shutil.rmtree(staging)
    return directory / "board"


def main() -> int:
    """Build a board as the command line asks and print its path. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--gateware",
        type=Path,
        default=ROOT / "build" / "sim",
        help="what targets/sim.py --build wrote (build/sim)",
    )
    parser.add_argument("--waves", action="store_true", help="able to write FST waves (slower)")
    parser.add_argument(
        "--sanitize",
        action="store_true",
        help="end at the first error that a sanitizer finds (slower)",
    )
    args = parser.parse_args()
    try:
        print(build_board(args.gateware, args.waves, sanitize=args.sanitize))
    except BuildError as error:
        print(f"board: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
