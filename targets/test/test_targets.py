# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of all targets: the order of options, their length, and the commands in the README."""

import re
import shlex
import subprocess
import sys

import pytest

from bringup import probe as ku5p_probe
from targets import options
from targets.ku5p_platform import BOARD
from targets.test.readme import commands
from tools.testing.repository import ROOT

BOARDS = ("ku5p", "as02mc04", "rk_xcku5p")

# The order of options in litex-boards' targets: --build and --load, other actions, options of what
# is built, options of the builder, then options of the tools (LiteXArgumentParser).
ORDER = (
    "--build",
    "--load",
    "--flash",
    "--driver",
    "--lanes",
    "--output-dir",
    "--synthesis",
    "--programmer",
    "--cable",
)
SIM_ORDER = ("--build", "--output-dir")


@pytest.mark.parametrize("name", [*BOARDS, "sim"])
def test_help_needs_nothing_and_has_litexs_order(name):
    """A target's --help works without any installed package, and lists the options in LiteX' order.

    The simulation's target has fewer options, in the same order.
    """
    result = subprocess.run(
        [sys.executable, "-S", "-E", ROOT / "targets" / f"{name}.py", "--help"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    options = re.findall(r"^  (--[a-z-]+)", result.stdout, re.MULTILINE)
    expected = ORDER if name in BOARDS else SIM_ORDER
    assert [option for option in options if option in ORDER] == list(expected)


@pytest.mark.parametrize("command", commands())
def test_the_readmes_commands_are_understood(command, monkeypatch):
    """Each command in targets/README.md names an existing script, and options of that script."""
    script, *arguments = shlex.split(command)
    assert (ROOT / script).exists()
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    if script.endswith("_probe.py"):
        ku5p_probe.parse_arguments(BOARD, "")
    else:
        options.parse_arguments(BOARD, "")


@pytest.mark.parametrize("name", [*BOARDS, "sim"])
def test_a_target_is_short(name):
    """A target has at most 200 lines, and a board's at most 40: what targets share is elsewhere."""
    lines = (ROOT / "targets" / f"{name}.py").read_text().count("\n")
    assert lines <= (40 if name in BOARDS else 200)
