# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""All boards' targets: options in LiteX' order, and the commands of targets/README.md."""

import re
import shlex
import subprocess
import sys

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT/"targets"))

import ku5p_probe  # noqa: E402
import silicon  # noqa: E402
from ku5p_platform import BOARD  # noqa: E402

BOARDS = ("ku5p", "as02mc04", "rk_xcku5p")

# The order of litex-boards' targets: --build and --load, other actions, what is built, the
# builder's options, and then those of the tools (LiteXArgumentParser).
ORDER = ("--build", "--load", "--flash", "--driver", "--lanes", "--output-dir", "--synthesis",
    "--programmer", "--cable")


def commands():
    """The commands of targets/README.md, without their comments."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT/"targets"/"README.md").read_text(), re.DOTALL)
    return [line.partition("#")[0].strip() for line in "".join(blocks).splitlines()]


@pytest.mark.parametrize("name", BOARDS)
def test_help_needs_nothing_and_has_litexs_order(name):
    """--help needs no package, and lists the options in LiteX' order."""
    result = subprocess.run([sys.executable, "-S", "-E", ROOT/"targets"/f"{name}.py", "--help"],
        capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    options = re.findall(r"^  (--[a-z-]+)", result.stdout, re.MULTILINE)
    assert [option for option in options if option in ORDER] == list(ORDER)


@pytest.mark.parametrize("command", commands())
def test_the_readmes_commands_are_understood(command, monkeypatch):
    """Each command in the README names an existing script, and options that it has."""
    script, *arguments = shlex.split(command)
    assert (ROOT/script).exists()
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    if script.endswith("_probe.py"):
        ku5p_probe.parse_arguments()
    else:
        silicon.parse_arguments(BOARD, "")
