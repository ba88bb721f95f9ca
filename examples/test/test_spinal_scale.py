# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of the SpinalHDL block SpinalScale in examples/spinal_scale."""

import re
import subprocess
from pathlib import Path

import pytest

from gateware.user.slot import find_occupant, make_occupant
from tools.testing.repository import ROOT
from tools.testing.seeds import each_seed
from tools.verilog.spinal_build import generate

pytestmark = pytest.mark.spinal

EXAMPLE = ROOT / "examples" / "spinal_scale"


class Platform:
    """Stands in for LiteX's platform: collects the Verilog sources that the user logic adds to the
    build.
    """

    def __init__(self):
        self.sources = []

    def add_source(self, filename):
        self.sources.append(filename)


@pytest.fixture(scope="module")
def verilog():
    return generate("SpinalScale", EXAMPLE)


@pytest.fixture(scope="module")
def testbench(verilog, tmp_path_factory):
    """Compile the testbench by Verilator, and return the path of its program."""
    folder = tmp_path_factory.mktemp("spinal_scale")
    subprocess.run(
        [
            "verilator",
            "--binary",
            "-Wno-WIDTH",
            "--top-module",
            "spinal_scale_tb",
            "-Mdir",
            folder,
            "-o",
            "testbench",
            verilog,
            Path(__file__).with_name("spinal_scale_tb.sv"),
        ],
        check=True,
        capture_output=True,
    )
    return folder / "testbench"


def test_it_fits_the_user_slot(verilog):
    """The user slot accepts the Python class around SpinalScale. The class adds the Verilog to the
    build, and has the register `shift`.
    """
    platform = Platform()
    occupant = make_occupant(find_occupant(f"{EXAMPLE}/spinal_scale.py:SpinalScale"), platform)
    assert platform.sources == [verilog]
    assert [register.name for register in occupant.get_csrs()] == ["shift"]


def test_verilog_is_readable_and_synchronous(verilog):
    """SpinalScale's generated Verilog has the ports that the Instance connects, and no anonymous
    name, asynchronous reset or date.
    """
    text = verilog.read_text()
    assert "_zz_" not in text and "Date" not in text
    assert set(re.findall(r"always @\(posedge (.*?)\)", text)) == {"clk"}
    ports = set(re.findall(r"^\s*(?:input|output).*?(\w+),?$", text, re.MULTILINE))
    assert ports == {
        "clk",
        "reset",
        "shift",
        "sink_valid",
        "sink_ready",
        "sink_payload",
        "source_valid",
        "source_ready",
        "source_payload",
    }


@each_seed(3)
def test_every_word_is_scaled_without_a_bubble(testbench, seed):
    """The testbench spinal_scale_tb.sv finds that SpinalScale scales every word, in order.

    Without stalls the block loses no cycle.
    """
    result = subprocess.run(
        [testbench, f"+verilator+seed+{seed + 1}"], capture_output=True, text=True
    )
    assert result.stdout.startswith("PASS"), result.stdout
