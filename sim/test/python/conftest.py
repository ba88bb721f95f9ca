# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Pytest fixtures of the tests of the Python package."""

import os
import sys

import pytest

from sim import artefacts
from sim.test.python.host_programs import PYTHON


@pytest.fixture(scope="module")
def host():
    """Return the package lanebox_host, set up to use a library that was just built."""
    os.environ["LIBLITEPCIE"] = str(artefacts.library())
    sys.path.insert(0, str(PYTHON))
    import lanebox_host

    return lanebox_host
