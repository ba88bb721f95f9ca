# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Pytest fixtures of the tests of the Python package."""

import pytest

from sim import artefacts
from sim.test.python.host_programs import PYTHON


@pytest.fixture(scope="module")
def host():
    """Return the package lanebox_host, set up to use a library that was just built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIBLITEPCIE", str(artefacts.library()))
        patch.syspath_prepend(PYTHON)
        import lanebox_host

        yield lanebox_host
