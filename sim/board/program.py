# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Compiles C++ programs that need no gateware, so no Verilator.

A program is kept under build/NAME/ by a hash of its sources.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from sim.board.build import include_flags
from sim.errors import BuildError

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-std=c++17", "-O2", "-Wall", "-Wextra"]


def build_program(name: str, sources: list[Path], headers: list[Path]) -> Path:
    """Compile the program `name` if its sources or headers have changed. Return its path."""
    digest = hashlib.sha256()
    for path in [*headers, *sources]:
        digest.update(f"{path.parent.name}/{path.name}".encode() + b"\0" + path.read_bytes())
    program = ROOT / "build" / name / digest.hexdigest()[:16] / name
    if not program.exists():
        _compile(program, sources)
    return program


def _compile(program: Path, sources: list[Path]) -> None:
    work = program.parent.with_name(f"{program.parent.name}.{os.getpid()}")
    work.mkdir(parents=True)
    compiler = ["ccache", "g++"] if shutil.which("ccache") else ["g++"]
    try:
        objects = [work / f"{path.parent.name}-{path.stem}.o" for path in sources]
        for source, made in zip(sources, objects):
            _run(program, [*compiler, *FLAGS, *include_flags(), "-c", source, "-o", made])
        program.parent.mkdir(parents=True, exist_ok=True)
        _run(program, ["g++", *objects, "-o", work / program.name])
        # The rename makes the complete program appear in one step.
        (work / program.name).replace(program)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _run(program: Path, command: list) -> None:
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode:
        tail = "\n".join(result.stderr.splitlines()[-15:])
        raise BuildError(f"the program {program.name} could not be compiled:\n{tail}")
