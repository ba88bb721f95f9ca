# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""targets/silicon.py as a user starts it, with a Yosys that gives canned netlists."""

import json
import os
import re
import resource
import shlex
import subprocess
import sys

import pytest
from repository import ROOT

EMPTY = {"ports": {}, "cells": {}, "netnames": {}}

# Yosys' log as far as it is read: the check before flattening does not count.
LOG = """1. Executing CHECK pass
Warning: Wire wrapper.open_pin is used but has no driver.
Found and reported 1 problems.
2. Executing CHECK pass
{}Found and reported 0 problems.
"""


def cell(kind, **pins):
    return {"type": kind, "connections": {pin: [bit] for pin, bit in pins.items()},
        "port_directions": {pin: "output" if pin in ("O", "Q") else "input" for pin in pins}}


def chain(levels):
    """A register, so many LUTs, a register."""
    cells = {"start": cell("FDRE", C=2, D="0", Q=3)}
    for level in range(levels):
        cells[f"lut{level}"] = cell("LUT2", I0=3 + level, O=4 + level)
    cells["stop"] = cell("FDRE", C=2, D=3 + levels, Q=4 + levels)
    names = {"pcie_clk": 2, "here": 3, "there": 4 + levels}
    return {"ports": {}, "cells": cells, "netnames": {text: {"bits": [bit]}
        for text, bit in names.items()}}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """One output folder for all tests: the gateware in it is built once."""
    return tmp_path_factory.mktemp("silicon")/"out"


@pytest.fixture
def run(out, tmp_path):
    """Run targets/ku5p.py with a Yosys that finds this netlist, and says these warnings."""

    def run(*arguments, netlist=EMPTY, warnings="", **environment):
        for name, module in (("flat", netlist), ("memories", EMPTY), ("leftover", EMPTY)):
            (tmp_path/f"{name}.json").write_text(json.dumps({"modules": {"lanebox": module}}))
        (tmp_path/"yosys.log").write_text(LOG.format(warnings))
        program = tmp_path/"yosys"
        # Another version each time: its results are not taken for those of the test before.
        program.write_text(f"#!/bin/sh\n[ $1 = -V ] && echo Yosys 9.9 {tmp_path} && exit\n"
            f"cp {tmp_path}/*.json {tmp_path}/yosys.log .; touch netlist.edif netlist.v\n")
        program.chmod(0o755)
        return subprocess.run([sys.executable, ROOT/"targets"/"ku5p.py", *arguments,
            "--endpoint", "litepcie", "--output-dir", out], capture_output=True, text=True,
            env={**os.environ, "LANEBOX_YOSYS": str(program), "LITEX_ENV_VIVADO": "",
                **environment})

    return run


def test_without_vivado_all_else_is_done(run, out):
    """Status 3, and what is ready, what is missing, what would do, and how to go on."""
    result = run("--build")
    assert result.returncode == 3, result.stderr
    for words in ("the netlist is ready, a bitstream is not", "Vivado was not found",
            "Vivado ML Standard", "resume   ", "--build --endpoint litepcie"):
        assert words in result.stderr, words
    for name in ("report.json", "gateware/ku5p.xdc", "synthesis/netlist.edif", "csr.json"):
        assert (out/name).exists(), name


def test_the_command_that_resumes_is_the_one_that_is_told(run):
    """It does nothing again that is done, and comes to the same point."""
    first = run("--build")
    told  = re.search(r"^  resume   (.*)$", first.stderr, re.MULTILINE)[1]
    script, *arguments = shlex.split(told)
    assert (script, arguments[0]) == (str(ROOT/"targets"/"ku5p.py"), "--build")
    again = run("--build")
    assert again.returncode == 3 and "up to date" in again.stdout
    assert again.stderr.splitlines()[-1] == first.stderr.splitlines()[-1]


def test_the_netlist_alone_is_a_success(run, out):
    """--synth-only ends with status 0, says how sure pins are, and has its rows in report.json."""
    result = run("--synth-only", netlist=chain(3))
    assert result.returncode == 0, result.stderr
    assert "pins of lanes 1 to 7 are reported only" in result.stdout
    rows = {entry["id"]: entry for entry in
        json.loads((out/"report.json").read_text())["results"]}
    assert rows["area/lut"]["value"] == 3 and rows["area/lut"]["limit"] == 216960
    assert rows["depth/pcie"]["value"] == 3
    assert rows["depth/pcie"]["conditions"]["from"] == "here"


def test_one_lane_is_not_inferred(run):
    """The pins of lane 0 are proven."""
    assert "are inferred" not in run("--synth-only", "--lanes", "1").stdout


@pytest.mark.parametrize("levels, status", [(10, 0), (11, 1)])
def test_logic_that_is_too_deep_fails_the_build(run, levels, status):
    """Ten levels pass, eleven do not, and the path's two ends are named."""
    result = run("--synth-only", netlist=chain(levels))
    assert result.returncode == status
    assert ("here -> there.D: 11 LUT levels" in result.stderr) is bool(status)


def test_a_problem_fails_the_build(run):
    """A net without a driver is named; a wrapper's open pin, which nothing uses, is none."""
    result = run("--synth-only", warnings="Warning: Wire lanebox.lost is used but has no driver.\n")
    assert result.returncode == 1
    assert "lanebox.lost is used but has no driver" in result.stderr
    assert "open_pin" not in result.stderr


def test_a_missing_yosys_is_named(run):
    """The path that was tried, not a traceback."""
    result = run("--build", LANEBOX_YOSYS="/nowhere/yosys")
    assert result.returncode == 1
    assert "Yosys cannot be started" in result.stderr and "Traceback" not in result.stderr


def test_nothing_to_do_is_a_usage_error(run):
    """Without --build or --synth-only nothing is built by mistake."""
    result = run()
    assert result.returncode == 2 and "--build or --synth-only" in result.stderr


@pytest.mark.parametrize("script, status, words", [
    ("mkdir -p $out/vivado; touch $out/vivado/$top.bit", 0, "spi_proxy.bit"),
    ("echo 'timing is not met'; exit 1", 1, "timing is not met"),
    ("exit 0", 1, "Vivado failed with status 0"),
])
def test_with_vivado_the_build_goes_on(run, out, tmp_path, script, status, words):
    """It places and routes; a failure, or no bitstream, is the build's failure."""
    program = tmp_path/"vivado"/"bin"/"vivado"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\nwhile [ $1 != -tclargs ]; do shift; done\nout=$3 top=$4\n"
        f"rm -rf $out/vivado\n{script}\n")
    program.chmod(0o755)
    result = run("--build", LITEX_ENV_VIVADO=str(tmp_path/"vivado"))
    assert result.returncode == status, result.stderr
    assert words in result.stdout + result.stderr


@pytest.mark.soak
def test_the_default_build_fits(tmp_path):
    """The real netlist: under 15 % of the LUTs and 35 % of the block RAM, at most 10 levels.

    In ten minutes and 4 GiB, for Yosys and for what comes before it.
    """
    result = subprocess.run([sys.executable, ROOT/"targets"/"ku5p.py", "--synth-only",
        "--output-dir", tmp_path/"out"], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = {entry["id"]: entry for entry in
        json.loads((tmp_path/"out"/"report.json").read_text())["results"]}
    assert rows["area/lut"]["ratio"] < 0.15 and rows["area/bram"]["ratio"] < 0.35
    assert rows["area/uram"]["limit"] == 64
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 4 << 20 # KiB.
    assert rows["depth/pcie"]["value"] <= 10
    # Endpoint and bridge keep to the budget that gateware/synthesis states for them.
    for what in ("area/endpoint/lut", "area/endpoint/lutram", "area/endpoint/bram",
            "depth/endpoint"):
        assert rows[what]["value"] <= rows[what]["limit"], rows[what]
