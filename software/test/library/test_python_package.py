# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of what the Python package in software/python promises to those who install it."""

import re

import tomllib

from tools.testing.repository import ROOT

PACKAGE = ROOT / "software" / "python"


def test_the_type_checker_takes_the_least_python_that_is_promised():
    """mypy and ruff check the package for the least version of Python that pip installs it for."""
    described = tomllib.loads((PACKAGE / "pyproject.toml").read_text())
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    (least,) = re.fullmatch(r">=(3\.\d+)", described["project"]["requires-python"]).groups()
    assert tool["mypy"]["python_version"] == least and tool["mypy"]["strict"]
    target = tool["ruff"]["per-file-target-version"]["software/python/**"]
    assert target == f"py{least.replace('.', '')}"
