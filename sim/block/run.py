# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs an example's cocotb tests on its logic alone.

Compiled simulations are kept in build/blocks."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import xml.etree.ElementTree as xml
from dataclasses import dataclass
from pathlib import Path

from sim.board.build import forget
from sim.board.pins import WrongPins, check_pins
from sim.differential.environment import alone, cocotb_version, interpreter, verilator_version
from sim.errors import BuildError, TestFailed
from sim.examples import Example
from tools.progress import StepError, run

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "blocks"
SIMULATE = Path(__file__).with_name("simulate.py")
KEPT = 20
# A step is shown to the user only if it takes this many seconds, since most steps only find
# finished files.
PATIENCE = 3.0
# Matches a line of cocotb's log: nanoseconds, level, logger, text. The lines of a traceback have
# the text alone.
LOGGED = re.compile(r" *[\d.]+ns +[A-Z]+ +cocotb\S*(?: \d+\S*)? +(?P<text>.*)")
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
BENCH = str(Path(__file__).with_name("bench.py"))

# Matches lines of a traceback that only decorate the statement above: carets, and (Python 3.13) the
# end of a statement that was written in several lines.
DECORATION = re.compile(r"[~^ ]*|\.\.\.<\d+ lines>\.\.\.|[)\]}]+")


@dataclass(frozen=True)
class Outcome:
    """The outcome of one cocotb test: its name, and what went wrong (empty if the test passed)."""

    name: str
    problem: str = ""


def waves_of(example: Example) -> Path:
    """Return the path of the file with the waves of the example's tests, one test after another."""
    return CACHE / example.name / "dump.fst"


def test(example: Example, seed: int, waves: bool = False) -> list[Outcome]:
    """Run the example's cocotb tests of its logic alone. Return the outcome of each.

    With `waves`, waves are written to waves_of(example). Raises BuildError, with file and line, if
    the example's logic cannot be built."""
    folder = CACHE / example.name
    sources = _verilog(example, folder)
    with alone():
        python = interpreter()
        simulation = _simulation(example, python, sources, waves)
        environment = {
            **_environment(waves),
            "LANEBOX_SEED": str(seed),
            "LANEBOX_PORTS": (folder / "ports.txt").read_text(),
        }
        # If this variable were set, cocotb would think that it runs in pytest.
        environment.pop("PYTEST_CURRENT_TEST", None)
        results = folder / "results.xml"
        results.unlink(missing_ok=True)
        waves_of(example).unlink(missing_ok=True)
        command = [python, SIMULATE, "test", simulation, folder, *example.tests]
        output = _run(command, "cocotb: run the tests", environment)
    if not results.exists():
        raise TestFailed(f"cocotb came to no result:\n{output[-3000:]}")
    return outcomes(results.read_text(), output)


def outcomes(results: str, output: str) -> list[Outcome]:
    """Return the outcome of each test in cocotb's results file.

    The problem of a failed test comes from cocotb's log, `output`."""
    problems = _problems(output)
    return [
        Outcome(
            case.get("name"),
            problems.get(case.get("name"), "    cocotb does not say why")
            if list(case.iter("failure")) or list(case.iter("error"))
            else "",
        )
        for case in xml.fromstring(results).iter("testcase")
    ]


def _problems(output: str) -> dict[str, str]:
    """Return what cocotb's log says about each failed test (the text behind `NAME failed`), by the
    test's name."""
    found, name = {}, None
    for line in output.splitlines():
        if logged := LOGGED.match(line):
            failed = re.match(r"(?:\w+\.)*(\w+) failed", logged["text"])
            name = failed[1] if failed else None
        elif name:
            found.setdefault(name, []).append(line.strip())
    return {name: _readable(lines) for name, lines in found.items()}


def _readable(lines: list[str]) -> str:
    """Return a traceback as lines `FILE:LINE: STATEMENT`, with the error at the end.

    The frames of bench.py are left out."""
    kept, lines = [], iter(lines)
    for line in lines:
        if frame := FRAME.match(line):
            statement = next(lines, "")
            if frame["file"] != BENCH:
                kept.append(f"{frame['file']}:{frame['line']}: {statement}")
        elif not DECORATION.fullmatch(line) and not line.startswith("Traceback"):
            kept.append(line)
    return "\n".join(f"    {line}" for line in kept)


def _verilog(example: Example, folder: Path) -> list[Path]:
    """Write the Verilog of the example's logic into `folder`.

    Return all files that a simulation of it needs."""
    command = [sys.executable, "-m", "sim.block.verilog", example.user, folder]
    _run(command, "gateware of the block")
    return [Path(line) for line in (folder / "sources.txt").read_text().splitlines()]


def _environment(waves: bool) -> dict[str, str]:
    """Return the environment variables for simulate.py.

    `make WAVES=1` sets WAVES, which cocotb 2 would read as well, so it is replaced by
    LANEBOX_WAVES."""
    kept = {name: value for name, value in os.environ.items() if name != "WAVES"}
    return {**kept, **({"LANEBOX_WAVES": "1"} if waves else {})}


def _simulation(example: Example, python: Path, sources: list[Path], waves: bool) -> Path:
    """Return the folder of the compiled simulation.

    It is compiled if no earlier run had the same sources and tools."""
    tools = f"{python} {cocotb_version()} {verilator_version()}{' waves' if waves else ''}"
    digest = hashlib.sha256(tools.encode())
    for path in [*sources, SIMULATE]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    place = CACHE / digest.hexdigest()[:16]
    if not place.exists():
        staging = place.with_suffix(".new")
        shutil.rmtree(staging, ignore_errors=True)
        options = "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1 -j2"
        cache = " OBJCACHE=ccache" if shutil.which("ccache") else ""
        environment = {**_environment(waves), "MAKEFLAGS": options + cache}
        command = [python, SIMULATE, "build", staging, *sources]
        _run(command, "cocotb: compile the block", environment, example)
        staging.rename(place)
        forget(CACHE, KEPT)
    os.utime(place)
    return place


def check(log: str, example: Example) -> None:
    """Raise WrongPins if Verilator's log tells of a port that does not fit.

    The error names the line in the example's own file."""
    try:
        check_pins(log)
    except WrongPins as error:
        raise WrongPins(error.pins, example.folder) from None


def _run(
    command: list, what: str, environment: dict | None = None, checked: Example | None = None
) -> str:
    """Run a command and return its output.

    With `checked`, the output is Verilator's, and is checked for wrong ports of this example. It is
    checked even if the command has failed, since WrongPins explains more than the failure."""
    try:
        output = run(command, what, tie=True, cwd=ROOT, patience=PATIENCE, env=environment)
    except StepError as error:
        if checked:
            check(error.output, checked)
        raise BuildError(str(error)) from None
    if checked:
        check(output, checked)
    return output
