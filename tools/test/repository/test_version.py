# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests that the version of the release, which several files must repeat, is the same in all."""

import re
from importlib.metadata import version

import pytest

from tools.testing.repository import ROOT


@pytest.mark.parametrize(
    "place, pattern",
    [
        ("software/uapi/litepcie_capability.h", r'^#define LITEPCIE_RELEASE +"([^"]+)"'),
        ("software/python/pyproject.toml", r'^version = "([^"]+)"'),
        ("software/kernel/dkms.conf", r'^PACKAGE_VERSION="([^"]+)"'),
    ],
)
def test_every_part_has_one_version(place, pattern):
    """setup.py, the C library, the Python package, DKMS and the kernel module all state the same
    version of Lanebox.
    """
    [found] = re.findall(pattern, (ROOT / place).read_text(), re.MULTILINE)
    assert found == version("lanebox")
