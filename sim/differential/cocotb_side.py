# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs a plan of operations against the gateware on cocotbext-pcie's models, from outside cocotb.

The compiled simulation is kept under build/cocotb/ in a folder named by a hash of its sources."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

from gateware.phy import pins_verilog
from sim.differential import pin_recorder
from sim.differential.environment import (
    CACHE,
    ROOT,
    alone,
    cocotb_version,
    interpreter,
    verilator_version,
)
from sim.errors import BuildError
from tools.progress import StepError, run

HERE = Path(__file__).resolve().parent
STUB = HERE / "pcie_usp_stub.sv.in"
SIMULATE = HERE / "cocotb_simulate.py"


def gateware_sources(gateware: Path) -> list[Path]:
    """Return the Verilog files of the gateware in a folder.

    Raises BuildError if the gateware was not built."""
    listing = gateware / "gateware" / "sources.txt"
    if not listing.exists():
        raise BuildError(f"{listing} is missing: run targets/sim.py --build first")
    return [Path(line) for line in listing.read_text().split()]


def stub() -> Path:
    """Write the Verilog module with the hard block's pins that cocotb drives. Return its path.

    In this module tready of RQ and CC has one bit, not four."""
    text = pins_verilog.fill(
        STUB.read_text(), {f"s_axis_{name}_tready": 1 for name in ("rq", "cc")}
    )
    return _written(text, "pcie_usp.sv")


def recorder() -> Path:
    """Write the Verilog module that records the pins. Return its path."""
    return _written(pin_recorder.verilog(), "pin_recorder.sv")


def _written(text: str, name: str) -> Path:
    """Write a file of this content and name, in a folder named by the content. Return its path."""
    file = CACHE / hashlib.sha256(text.encode()).hexdigest()[:16] / name
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        staging = file.with_suffix(f".{os.getpid()}")
        staging.write_text(text)
        staging.rename(file)
    return file


def build(gateware: Path) -> tuple[Path, Path]:
    """Compile the simulation if its sources have changed.

    Returns the Python of the cocotb environment and the folder of the simulation."""
    model = [ROOT / "sim" / "board" / "block" / "primitives.v", stub(), recorder()]
    sources = [*gateware_sources(gateware), *model]
    with alone():
        python = interpreter()
        digest = hashlib.sha256(f"{python} {cocotb_version()} {verilator_version()}".encode())
        for path in [*sources, SIMULATE]:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        directory = CACHE / f"simulation-{digest.hexdigest()[:16]}"
        if not directory.exists():
            _compile(python, directory, sources)
    return python, directory


def _compile(python: Path, directory: Path, sources: list[Path]) -> None:
    staging = directory.with_name(f"{directory.name}.new")
    shutil.rmtree(staging, ignore_errors=True)
    # Verilator's own default is -Os. cocotb's runner has no option for it, so make gets these
    # options.
    options = "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1 -j2"
    cache = " OBJCACHE=ccache" if shutil.which("ccache") else ""
    environment = dict(os.environ, MAKEFLAGS=options + cache)
    command = [python, SIMULATE, "build", staging, *sources]
    run(command, "cocotb: compile the gateware", tie=True, env=environment)
    staging.rename(directory)


def observe(gateware: Path, directory: Path, seed: int, length: int, split: bool) -> dict:
    """Run the plan on cocotbext-pcie's models and return its outcome.

    The beats are left in the file pins.txt in `directory`. With `split` the root complex completes
    reads in pieces of 64 B instead of as few as it can."""
    csr = json.loads((gateware / "csr.json").read_text())
    plan = directory / "plan.json"
    plan.write_text(json.dumps({"csr": csr, "seed": seed, "length": length, "split": split}))
    for image in (gateware / "gateware").glob("*.init"):
        shutil.copy(image, directory)
    python, simulation = build(gateware)
    environment = dict(os.environ, LANEBOX_PLAN=str(plan), LANEBOX_ROOT=str(ROOT))
    # If this variable were set, cocotb's runner would think that it runs in pytest.
    environment.pop("PYTEST_CURRENT_TEST", None)
    command = [python, SIMULATE, "test", simulation, directory]
    output = run(command, "cocotb: run", tie=True, env=environment)
    outcome = directory / "outcome.json"
    if not outcome.exists():
        tail = "\n".join(output.splitlines()[-40:])
        raise StepError(f"cocotbext-pcie's side did not reach the end of the plan:\n{tail}")
    return json.loads(outcome.read_text())
