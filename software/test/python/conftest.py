# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Pytest fixtures of the tests of the Python package that need no board."""

from sim.test.python.conftest import host  # noqa: F401
