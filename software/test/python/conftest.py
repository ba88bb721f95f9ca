# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Pytest fixtures of those tests of the Python package that run without a simulated board."""

from sim.test.python.conftest import host  # noqa: F401
