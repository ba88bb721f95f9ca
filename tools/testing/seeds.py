# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Seeds for randomised tests.

A test's name contains its seed, and LANEBOX_SEED shifts all seeds.
"""

import os

import pytest

SHIFT = int(os.environ.get("LANEBOX_SEED", "0"))


def each_seed(count):
    """Return a mark that runs a test `count` times, each time with another value of `seed`."""
    return pytest.mark.parametrize("seed", range(SHIFT, SHIFT + count))
