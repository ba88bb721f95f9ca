# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Compile a test's own C++ program together with the hard-block model, without a gateware."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from sim.board import build
from sim.test.board.board_builds import ROOT
from tools.locks import locked

# Whether GCC takes a variable for uninitialized depends on its version, and newer ones than those
# tried may be wrong about it. So this warning alone is no error.
FLAGS = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-error=maybe-uninitialized"]


def build_probe(source: Path) -> Path:
    """Compile a program from `source` and the model; returns its path."""
    sources = [source, *build.model_files(".cpp")]
    return build_program(source.stem, sources, build.model_files(".hpp"))


def build_program(
    name: str, sources: list[Path], headers: list[Path], flags: tuple[str, ...] = ()
) -> Path:
    """Compile a program from its sources; returns its path. The same content is compiled only once.
    `flags` are options of the compiler beside FLAGS.

    If several tests ask for the program at the same time, one of them compiles it and the other
    tests wait.
    """
    digest = hashlib.sha256()
    for path in [*sources, *headers]:
        digest.update(path.read_bytes())
    program = ROOT / "build" / "probe" / digest.hexdigest()[:16] / name
    with locked(program.with_suffix(".lock")):
        if not program.exists():
            _compile(sources, program, flags)
    return program


def _compile(sources: list[Path], program: Path, flags: tuple[str, ...]) -> None:
    compiler = ["ccache", "g++"] if shutil.which("ccache") else ["g++"]
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        objects = [Path(folder) / f"{path.stem}.o" for path in sources]
        for path, made in zip(sources, objects):
            options = [*FLAGS, *flags, *build.include_flags()]
            subprocess.run([*compiler, *options, "-c", path, "-o", made], check=True)
        subprocess.run(["g++", *objects, "-o", Path(folder) / program.name], check=True)
        (Path(folder) / program.name).rename(program)
