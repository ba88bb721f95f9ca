# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The codes of enumerations in the gateware's Scala sources, for tests that read a code."""

import re

from tools.testing.repository import ROOT

ELEMENT = re.compile(r"^  val (\w+)\s*=\s*newElement\(\)", re.MULTILINE)


def elements(path):
    """Return {element: its code} of the enumeration in a file of gateware/. Codes count from 0."""
    text = (ROOT / "gateware" / path).read_text()
    if text.count("SpinalEnum(binarySequential)") != 1:
        raise ValueError(f"{path}: it has not one enumeration whose codes count from 0")
    return {name: code for code, name in enumerate(ELEMENT.findall(text))}
