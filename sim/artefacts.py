# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Everything that a run is made of, built when it is not there yet: gateware, board, utility."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from lanebox.locks import locked
from sim.board.build import build_board
from sim.endpoints import DEFAULT
from sim.errors import BuildError
from sim.examples import Example, Occupant
from tools.progress import StepError, run

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
PATIENCE = 3.0  # s, before a step that is mostly cached shows itself


@dataclass(frozen=True)
class Artefacts:
    """One choice of gateware, and what runs it."""

    endpoint: str
    example: Example | Occupant | None
    gateware: Path  # what targets/sim.py wrote
    board: Path

    @property
    def headers(self) -> Path:
        """csr.h, soc.h and mem.h of this gateware."""
        return self.gateware / "include"


def build(
    endpoint: str,
    example: Example | Occupant | None = None,
    waves: bool = False,
    memories: dict[int, str] | None = None,
    msix: bool = False,
    completion_pool: bool = False,
) -> Artefacts:
    """Gateware and board for `endpoint`, with `example` in the user slot.

    `memories`: files with the contents of memory 0 and 1 (.hex, .coe, .bin; see mmio/memory.py).
    """
    variant = [example.name] if example else [endpoint] if endpoint != DEFAULT else []
    variant += ["msix"] if msix else []
    variant += ["pool"] if completion_pool else []
    gateware = BUILD / "-".join(["sim", *variant])
    command = [
        sys.executable, str(ROOT / "targets" / "sim.py"), "--build",
        "--endpoint", endpoint, "--output-dir", str(gateware),
    ]  # fmt: skip
    if example is not None:
        command += ["--user", example.user]
    if msix:
        command.append("--msix")
    if completion_pool:
        command.append("--completion-pool")
    for number, file in (memories or {}).items():
        command += [f"--memory{number}", str(Path(file).absolute())]
    _step("gateware", command)
    return Artefacts(endpoint, example, gateware, build_board(gateware, waves))


def utility(headers: Path, static: bool = False) -> Path:
    """litepcie_util for the gateware with these headers; static: for the guest."""
    return _software(ROOT / "software" / "user", "litepcie_util", headers, static)


def client(example: Example, headers: Path, static: bool = False) -> Path:
    """The example's own C client."""
    return _software(ROOT / "examples", example.name, headers, static)


def stock_utility(headers: Path) -> Path:
    """LitePCIe's own litepcie_util, unpatched, static for the guest."""
    package = Path(importlib.util.find_spec("litepcie").submodule_search_locations[0])
    out = BUILD / "software" / headers.parent.name / "stock"
    shutil.copytree(package / "software", out, dirs_exist_ok=True)
    for header in headers.glob("*.h"):
        shutil.copy(header, out / "kernel")
    _step("stock litepcie_util", ["make", "-s", "-C", str(out / "user"), "CC=gcc -static"])
    return out / "user" / "litepcie_util"


def _software(directory: Path, program: str, headers: Path, static: bool) -> Path:
    out = BUILD / "software" / headers.parent.name / ("static" if static else "native")
    command = ["make", "-s", "-C", str(directory), f"OUT={out}", f"GENERATED={headers}", program]
    with locked(out.with_suffix(".lock")):
        _step(program, command + (["STATIC=1"] if static else []))
    return out / program


def _step(what: str, command: list[str]) -> None:
    """Build, showing what the builder says last (sbt fetches for a minute) when it takes long."""
    try:
        run(command, what, cwd=ROOT, patience=PATIENCE, note=lambda line: line)
    except StepError as error:
        raise BuildError(f"{what} could not be built:\n{error}") from None
