# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of observe/capability_header.py: the numbers of the capability table as a C header."""

import re

from gateware.observe import capability_header
from gateware.observe.capability import BLOCK_TYPES
from tools.testing.repository import ROOT

HEADER = ROOT / "software" / "uapi" / "litepcie_capability.h"


def test_the_c_header_is_the_table_s():
    """The kernel's litepcie_capability.h is what `python -m gateware.observe.capability_header`
    writes."""
    assert HEADER.read_text() == capability_header.c_header()


def test_numbers_of_block_types_are_their_own():
    """Each type of block in the capability table has a number that no other type has, and a name of
    its own in the C header.
    """
    numbers = [kind.number for kind in BLOCK_TYPES.values()]
    assert len(set(numbers)) == len(numbers) and 0 not in numbers
    names = re.findall(r"#define (\w+) ", capability_header.c_header())
    assert len(set(names)) == len(names)
