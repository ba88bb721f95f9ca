# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Builds and runs the program that measures the model of the hard block with ideal user logic.

The program gives the payload rate of each stream, in device time. Verilator is not needed. The
program is kept under build/ideal/ by a hash of its sources.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

from sim.board.build import BOARD, include_flags, model_files, numbers_header
from sim.errors import BuildError, TestFailed

ROOT = Path(__file__).resolve().parents[3]
IDEAL = BOARD / "ideal"
CACHE = ROOT / "build" / "ideal"
FLAGS = ["-std=c++17", "-O2", "-Wall", "-Wextra"]


def rates(cycles: int = 100_000) -> dict:
    """Run the program and return the rates that it measured.

    They have the form {stream: {bytes per TLP: {"gb_per_s", "bytes", "cycles", "mps",
    "violations"}}}.
    """
    result = subprocess.run([build(), str(cycles)], capture_output=True, text=True)
    if result.returncode:
        raise TestFailed(f"the model refuses its ideal users: {result.stderr.strip()}")
    return json.loads(result.stdout)


def build() -> Path:
    """Compile the program `ideal` if its sources have changed. Return its path."""
    headers = [numbers_header(), *sorted(BOARD.rglob("*.hpp"))]
    sources = [*model_files(".cpp"), *sorted(IDEAL.glob("*.cpp"))]
    digest = hashlib.sha256()
    for path in [*headers, *sources]:
        digest.update(f"{path.parent.name}/{path.name}".encode() + b"\0" + path.read_bytes())
    program = CACHE / digest.hexdigest()[:16] / "ideal"
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
            _run([*compiler, *FLAGS, *include_flags(), "-c", source, "-o", made])
        program.parent.mkdir(parents=True, exist_ok=True)
        _run(["g++", *objects, "-o", work / "ideal"])
        # The rename makes the complete program appear in one step.
        (work / "ideal").replace(program)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _run(command: list) -> None:
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode:
        tail = "\n".join(result.stderr.splitlines()[-15:])
        raise BuildError(f"the ideal users could not be compiled:\n{tail}")
