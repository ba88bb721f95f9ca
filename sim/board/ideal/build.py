# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Build and run the ideal users on the model: payload rates of each stream in device time.

Needs no Verilator. The program is kept by the content of its sources under build/ideal/.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

from sim.errors import BuildError, TestFailed

ROOT = Path(__file__).resolve().parents[3]
BOARD = ROOT / "sim" / "board"
CACHE = ROOT / "build" / "ideal"
FLAGS = ["-std=c++17", "-O2", "-Wall", "-Wextra", f"-I{BOARD}"]


def rates(cycles: int = 100_000) -> dict:
    """{stream: {bytes per TLP: {"gb_per_s", "bytes", "cycles", "mps", "violations"}}}."""
    result = subprocess.run([build(), str(cycles)], capture_output=True, text=True)
    if result.returncode:
        raise TestFailed(f"the model refuses its ideal users: {result.stderr.strip()}")
    return json.loads(result.stdout)


def build() -> Path:
    """The program, compiled when its sources have changed."""
    headers = [p for part in ("pcie4", "ideal", ".") for p in sorted((BOARD / part).glob("*.hpp"))]
    sources = [p for part in ("pcie4", "ideal") for p in sorted((BOARD / part).glob("*.cpp"))]
    digest = hashlib.sha256()
    for path in [*headers, *sources]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
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
            _run([*compiler, *FLAGS, "-c", source, "-o", made])
        program.parent.mkdir(parents=True, exist_ok=True)
        _run(["g++", *objects, "-o", work / "ideal"])
        (work / "ideal").replace(program)  # last of all, in one step
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _run(command: list) -> None:
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode:
        tail = "\n".join(result.stderr.splitlines()[-15:])
        raise BuildError(f"the ideal users could not be compiled:\n{tail}")
