# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/environment.py, which finds the Python that has LiteX."""

import shutil
import subprocess
import sys

import pytest

from tools.testing.repository import ROOT


@pytest.fixture
def repository(tmp_path):
    """Copy the targets and the modules that they need, to be run by a Python without packages."""
    for folder in ("targets", "bringup", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "gateware").mkdir()
    for name in ("__init__.py", "numbers.py"):
        shutil.copy(ROOT / "gateware" / name, tmp_path / "gateware")
    return tmp_path


def run(repository, *arguments, script="sim.py"):
    # With -S -E Python runs without site-packages and without PYTHONPATH.
    return subprocess.run(
        [sys.executable, "-S", "-E", repository / "targets" / script, *arguments],
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("script", ["sim.py", "ku5p.py", "rk_xcku5p.py", "ku5p_probe.py"])
def test_without_environment_the_command_is_named(repository, script):
    """Without LiteX and .venv the scripts in targets/ end with status 2 and name the command that
    makes .venv.
    """
    result = run(repository, "--build", script=script)
    assert result.returncode == 2
    assert "litex" in result.stderr and "make setup" in result.stderr
    assert "Traceback" not in result.stderr


def test_help_needs_nothing(repository):
    """The option --help of the scripts in targets/ works before any package is installed."""
    result = run(repository, "--help")
    assert result.returncode == 0
    assert "--memory0" in result.stdout and "examples:" in result.stdout


@pytest.mark.parametrize("script", ["sim.py", "ku5p.py", "ku5p_probe.py"])
def test_the_repositorys_environment_is_entered(repository, script):
    """If .venv exists, a script in targets/ starts again with .venv's Python, with the same
    arguments.
    """
    python = repository / ".venv" / "bin" / "python3"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "venv: $*"\n')
    python.chmod(0o755)
    result = run(repository, "--build", "--output-dir", "a b", script=script)
    assert result.stdout == f"venv: {repository}/targets/{script} --build --output-dir a b\n"
