# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The numbers of the player's errors are the same in Scala, which sets them, and in Python, which
describes them in the register map.
"""

import re

from gateware.capture.player.registers import ERRORS
from tools.testing.repository import ROOT

READER = ROOT / "gateware" / "capture" / "player" / "PacketReader.scala"


def camel(name):
    """Return the name of an error as Scala has it: too_large becomes tooLarge."""
    return re.sub("_(.)", lambda found: found[1].upper(), name)


def test_both_languages_have_the_same_errors_in_the_same_order():
    """The elements of PacketReader.Error are the keys of ERRORS, and in their order."""
    _, _, listed = READER.read_text().partition("object Error extends SpinalEnum")
    elements = re.findall(r"^    val (\w+) *= newElement\(\)", listed, re.MULTILINE)
    assert len(elements) >= 10
    assert elements == [camel(name) for name in ERRORS]
