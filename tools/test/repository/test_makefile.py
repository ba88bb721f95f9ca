# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of the Makefile: `make help` explains all commands and options in 80 columns, and each
command sets up the Python packages that it needs.
"""

import re
import subprocess

import pytest

from tools import graph, recall
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
    """`make help` explains each variable that the Makefile uses and does not set, and those of
    ELSEWHERE, and no other variable.
    """
    rules = MAKEFILE.partition("define HELP")[0] + MAKEFILE.partition("endef")[2]
    asked = set(re.findall(r"\$\(([A-Z][A-Z0-9_]*)[):]", rules))
    asked -= {"HELP", *re.findall(r"^([A-Z0-9_]+) *:=", rules, re.MULTILINE)}
    explained = set(re.findall(r"^  ([A-Z][A-Z0-9_]*)=", shown(), re.MULTILINE))
    assert {"VM", "MPS", "WAVES", "PYTEST_OPTIONS"} < asked
    assert explained == asked | ELSEWHERE


def test_every_command_is_explained_and_no_other():
    """`make help` lists each command (target of .PHONY) of the Makefile but itself, and no
    other.
    """
    there = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())
    listed = shown().partition("commands:")[2].partition("options of")[0]
    assert set(re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)) == there - {"help"}


def test_a_default_terminal_shows_it_whole():
    """The output of `make help` has at most 80 columns.

    The test also checks that some program reads each variable in ELSEWHERE.
    """
    text = shown()
    assert max(map(len, text.splitlines())) <= 80
    sources = [*(ROOT / "sim").rglob("*.py"), *(ROOT / "tools").glob("*.py"), ROOT / "conftest.py"]
    read = " ".join(path.read_text() for path in sources)
    assert all(re.search(rf"""environ.*["']{name}["']""", read) for name in ELSEWHERE)


# The commands of `make` that prepare only some groups of needs, and run a module of the repository.
RECIPES = {
    command: (set(groups.split()), set(re.findall(r"\b(?:sim|tools)\.[a-z0-9_.]+", run)))
    for command, groups, run in re.findall(
        r"^([a-z]+):\n\t@\$\(PREPARE\) (.*)\n\t@\$\(RUN\) (.*)$", MAKEFILE, re.MULTILINE
    )
}


def packages(lock):
    """Return the names of the Python packages in a lock file of tools/."""
    text = (ROOT / "tools" / lock).read_text()
    return set(re.findall(r"^([a-z0-9_-]+)==", text, re.MULTILINE))


def reached(starts):
    """Return the names of all modules that the modules `starts` import, also through others."""
    modules = graph.python_modules()
    names, files = set(), [modules[name] for name in starts]
    seen = set(files)
    while files:
        path = files.pop()
        names |= recall.imports(ROOT / path)
        new = graph.python_imports(path, modules) - seen
        seen |= new
        files += new
    return {name.partition(".")[0] for name in names}


def test_the_commands_and_their_modules_are_found():
    """RECIPES has the commands of `make` that measure, and for each command a module to run."""
    assert {"sim", "bench", "board"} < set(RECIPES)
    assert all(starts for _, starts in RECIPES.values())


def test_the_benchmarks_find_the_tools_that_they_use():
    """`make bench` sets up what builds firmware, since its rows of the management CPU need that."""
    groups, starts = RECIPES["bench"]
    assert "sim.bench" in starts and "firmware" in groups


@pytest.mark.parametrize("command", RECIPES)
def test_a_command_sets_up_the_packages_that_it_imports(command):
    """On a fresh machine each command of `make` installs the Python packages that its modules
    import.
    """
    groups, starts = RECIPES[command]
    names = reached(starts)
    more = packages("requirements-python.lock") - packages("requirements.lock")
    assert more == {"numpy", "python-pcapng", "scapy"}
    assert "python" in groups or not names & {"numpy", "pcapng", "scapy"}
