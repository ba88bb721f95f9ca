# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of `make help`: it explains all commands and options of the Makefile, in 80 columns."""

import re
import subprocess

from tools.testing.repository import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
# Variables that `make help` explains and that only programs read, from the environment.
ELSEWHERE = {"SOAK", "DEBIAN_MIRROR"}


def shown():
    """Return the output of `make help`."""
    done = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_option_is_explained_and_no_other():
    """`make help` explains each variable that the Makefile uses and does not set, and no other."""
    rules = MAKEFILE.partition("define HELP")[0] + MAKEFILE.partition("endef")[2]
    asked = set(re.findall(r"\$\(([A-Z][A-Z0-9_]*)[):]", rules))
    asked -= {"HELP", *re.findall(r"^([A-Z0-9_]+) *:=", rules, re.MULTILINE)}
    explained = set(re.findall(r"^  ([A-Z][A-Z0-9_]*)=", shown(), re.MULTILINE))
    assert {"VM", "MPS", "WAVES", "PYTEST_OPTIONS"} < asked
    assert explained == asked | ELSEWHERE


def test_every_command_is_explained_and_no_other():
    """`make help` lists each target of .PHONY, and no other."""
    there = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())
    listed = shown().partition("commands:")[2].partition("options of")[0]
    assert set(re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)) == there - {"help"}


def test_a_default_terminal_shows_it_whole():
    """The output of `make help` has at most 80 columns.

    Programs do read the variables in ELSEWHERE.
    """
    text = shown()
    assert max(map(len, text.splitlines())) <= 80
    sources = [*(ROOT / "sim").rglob("*.py"), *(ROOT / "tools").glob("*.py"), ROOT / "conftest.py"]
    read = " ".join(path.read_text() for path in sources)
    assert all(re.search(rf"""environ.*["']{name}["']""", read) for name in ELSEWHERE)
