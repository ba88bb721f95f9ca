# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Compile a test's own program with the hard-block model in it, without a gateware."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from board_builds import ROOT

from lanebox.locks import locked
from sim.board import build

FLAGS = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{build.BOARD}"]


def build_probe(source: Path) -> Path:
    """The program made of `source` and the model, built once for the same sources.

    Several tests may ask for it at the same time: one of them builds it, the others wait.
    """
    sources = [source, *sorted(build.BOARD.glob("pcie4/*.cpp"))]
    digest = hashlib.sha256()
    for path in [*sources, *sorted(build.BOARD.glob("pcie4/*.hpp"))]:
        digest.update(path.read_bytes())
    program = ROOT / "build" / "probe" / digest.hexdigest()[:16] / source.stem
    with locked(program.with_suffix(".lock")):
        if not program.exists():
            _compile(sources, program)
    return program


def _compile(sources: list[Path], program: Path) -> None:
    compiler = ["ccache", "g++"] if shutil.which("ccache") else ["g++"]
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        objects = [Path(folder) / f"{path.stem}.o" for path in sources]
        for path, made in zip(sources, objects):
            subprocess.run([*compiler, *FLAGS, "-c", path, "-o", made], check=True)
        subprocess.run(["g++", *objects, "-o", Path(folder) / program.name], check=True)
        (Path(folder) / program.name).rename(program)
