# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of targets/silicon.py through the program that a user starts, targets/ku5p.py, with a
stand-in for Yosys that gives fixed netlists.
"""

import json
import os
import re
import resource
import shlex
import subprocess
import sys

import pytest

from tools.testing.repository import ROOT

EMPTY = {"ports": {}, "cells": {}, "netnames": {}}

# The part of Yosys' log that the target reads. Only problems of the last check, after flattening,
# count.
LOG = """1. Executing CHECK pass
Warning: Wire wrapper.open_pin is used but has no driver.
Found and reported 1 problems.
2. Executing CHECK pass
{}Found and reported 0 problems.
"""


def cell(kind, **pins):
    return {
        "type": kind,
        "connections": {pin: [bit] for pin, bit in pins.items()},
        "port_directions": {pin: "output" if pin in ("O", "Q") else "input" for pin in pins},
    }


def chain(levels):
    """Return a netlist in Yosys' JSON form with `levels` LUTs in a row between two registers."""
    cells = {"start": cell("FDRE", C=2, D="0", Q=3)}
    for level in range(levels):
        cells[f"lut{level}"] = cell("LUT2", I0=3 + level, O=4 + level)
    cells["stop"] = cell("FDRE", C=2, D=3 + levels, Q=4 + levels)
    names = {"pcie_clk": 2, "here": 3, "there": 4 + levels}
    return {
        "ports": {},
        "cells": cells,
        "netnames": {text: {"bits": [bit]} for text, bit in names.items()},
    }


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Return the build's output folder. All tests share it, so that the gateware is built only
    once.
    """
    return tmp_path_factory.mktemp("silicon") / "out"


@pytest.fixture
def run(out, tmp_path):
    """Return a function that runs targets/ku5p.py with a stand-in for Yosys.

    The stand-in gives the netlist and the warnings of its arguments.
    """

    def run(*arguments, netlist=EMPTY, warnings="", **environment):
        for name, module in (("flat", netlist), ("memories", EMPTY), ("leftover", EMPTY)):
            (tmp_path / f"{name}.json").write_text(json.dumps({"modules": {"lanebox": module}}))
        (tmp_path / "yosys.log").write_text(LOG.format(warnings))
        program = tmp_path / "yosys"
        # The stand-in reports another version in each test, so no result of an earlier test is
        # reused.
        program.write_text(
            f"#!/bin/sh\n[ $1 = -V ] && echo Yosys 9.9 {tmp_path} && exit\n"
            f"cp {tmp_path}/*.json {tmp_path}/yosys.log .; touch netlist.edif netlist.v\n"
        )
        program.chmod(0o755)
        return subprocess.run(
            [
                sys.executable,
                ROOT / "targets" / "ku5p.py",
                *arguments,
                "--endpoint",
                "litepcie",
                "--output-dir",
                out,
            ],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "LANEBOX_YOSYS": str(program),
                "LITEX_ENV_VIVADO": "",
                **environment,
            },
        )

    return run


def test_without_vivado_all_else_is_done(run, out):
    """If Vivado is missing, the exit status is 3, and the message says what is ready and how to go
    on.
    """
    result = run("--build")
    assert result.returncode == 3, result.stderr
    for words in (
        "the netlist is ready, a bitstream is not",
        "Vivado was not found",
        "Vivado ML Standard",
        "resume   ",
        "--build --endpoint litepcie",
    ):
        assert words in result.stderr, words
    for name in ("report.json", "gateware/ku5p.xdc", "synthesis/netlist.edif", "csr.json"):
        assert (out / name).exists(), name


def test_the_command_that_resumes_is_the_one_that_is_told(run):
    """The command that a build without Vivado prints resumes that build.

    It rebuilds nothing, and ends again at the point where Vivado is missing.
    """
    first = run("--build")
    told = re.search(r"^  resume   (.*)$", first.stderr, re.MULTILINE)[1]
    script, *arguments = shlex.split(told)
    assert (script, arguments[0]) == (str(ROOT / "targets" / "ku5p.py"), "--build")
    again = run("--build")
    assert again.returncode == 3 and "up to date" in again.stdout
    assert again.stderr.splitlines()[-1] == first.stderr.splitlines()[-1]


def test_the_netlist_alone_is_a_success(run, out):
    """--synth-only ends with exit status 0, reports pins
    that are not sure, and writes report.json.
    """
    result = run("--synth-only", netlist=chain(3))
    assert result.returncode == 0, result.stderr
    assert "pins of lanes 1 to 7 are reported only" in result.stdout
    rows = {
        entry["id"]: entry for entry in json.loads((out / "report.json").read_text())["results"]
    }
    assert rows["area/lut"]["value"] == 3 and rows["area/lut"]["limit"] == 216960
    assert rows["depth/pcie"]["value"] == 3
    assert rows["depth/pcie"]["conditions"]["from"] == "here"


def test_one_lane_is_not_inferred(run):
    """With --lanes 1 the target reports no pins as inferred, since a published design uses those of
    lane 0.
    """
    assert "reported only" not in run("--synth-only", "--lanes", "1").stdout


@pytest.mark.parametrize("levels, status", [(10, 0), (11, 1)])
def test_logic_that_is_too_deep_fails_the_build(run, levels, status):
    """A target accepts a register-to-register path of ten LUT levels. A path of eleven fails the
    build with both ends named.
    """
    result = run("--synth-only", netlist=chain(levels))
    assert result.returncode == status
    assert ("here -> there.D: 11 LUT levels" in result.stderr) is bool(status)


def test_a_problem_fails_the_build(run):
    """A net without a driver fails the build of a target. A pin that only Yosys' check before
    flattening reports as open does not.
    """
    result = run("--synth-only", warnings="Warning: Wire lanebox.lost is used but has no driver.\n")
    assert result.returncode == 1
    assert "lanebox.lost is used but has no driver" in result.stderr
    assert "open_pin" not in result.stderr


def test_a_missing_yosys_is_named(run):
    """If Yosys is missing, the build of a target fails with a sentence that says so, not with a
    traceback.
    """
    result = run("--build", LANEBOX_YOSYS="/nowhere/yosys")
    assert result.returncode == 1
    assert "Yosys cannot be started" in result.stderr and "Traceback" not in result.stderr


def test_nothing_to_do_is_a_usage_error(run):
    """Without an action such as --build a board's target builds nothing and ends with exit status
    2.
    """
    result = run()
    assert result.returncode == 2 and "--build or --synth-only" in result.stderr


@pytest.mark.parametrize(
    "script, status, words",
    [
        ("mkdir -p $out/vivado; touch $out/vivado/$top.bit", 0, "spi_proxy.bit"),
        ("echo 'timing is not met'; exit 1", 1, "timing is not met"),
        ("exit 0", 1, "Vivado failed with status 0"),
    ],
)
def test_with_vivado_the_build_goes_on(run, out, tmp_path, script, status, words):
    """If Vivado is there, the build of a target runs it. If Vivado fails or writes no bitstream,
    the build fails.
    """
    program = tmp_path / "vivado" / "bin" / "vivado"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!/bin/sh\nwhile [ $1 != -tclargs ]; do shift; done\nout=$3 top=$4\n"
        f"rm -rf $out/vivado\n{script}\n"
    )
    program.chmod(0o755)
    result = run("--build", LITEX_ENV_VIVADO=str(tmp_path / "vivado"))
    assert result.returncode == status, result.stderr
    assert words in result.stdout + result.stderr


@pytest.mark.soak
def test_the_default_build_fits(tmp_path):
    """The default KU5P netlist has under 15 % of the LUTs, under 35 % of the block RAM, and at most
    10 LUT levels.

    The build up to the netlist takes at most ten minutes and 4 GiB.
    """
    result = subprocess.run(
        [
            sys.executable,
            ROOT / "targets" / "ku5p.py",
            "--synth-only",
            "--output-dir",
            tmp_path / "out",
        ],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    rows = {
        entry["id"]: entry
        for entry in json.loads((tmp_path / "out" / "report.json").read_text())["results"]
    }
    assert rows["area/lut"]["ratio"] < 0.15 and rows["area/bram"]["ratio"] < 0.35
    assert rows["area/uram"]["limit"] == 64
    # ru_maxrss is in KiB, so this limit on Yosys' memory is 4 GiB.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 4 << 20
    assert rows["depth/pcie"]["value"] <= 10
    # Endpoint and MMIO bridge stay within the budget of LUTs, memories and logic depth that
    # tools/synthesis states.
    for what in (
        "area/endpoint/lut",
        "area/endpoint/lutram",
        "area/endpoint/bram",
        "depth/endpoint",
    ):
        assert rows[what]["value"] <= rows[what]["limit"], rows[what]


@pytest.mark.soak
def test_a_build_with_virtio_devices_is_good(tmp_path):
    """The KU5P netlist with the virtio console and net device has at most 10 LUT levels, so the
    build is not refused.
    """
    command = [sys.executable, ROOT / "targets" / "ku5p.py", "--synth-only", "--virtio"]
    done = subprocess.run(
        [*command, "--output-dir", tmp_path / "out"], capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert "VirtioDevices" in report["blocks"]


def test_card_services_need_a_flash_that_is_known():
    """--card is refused with a sentence on a board whose flash nobody has named: the golden image
    is safe only in a flash of known size.
    """
    command = [sys.executable, ROOT / "targets" / "as02mc04.py", "--synth-only", "--card"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "the flash of AS02MC04 is not known" in done.stderr
