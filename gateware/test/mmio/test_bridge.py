# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""bridge.py describes the same error kinds as MmioErrorKind.scala, in the same order."""

import re
from pathlib import Path

from gateware.mmio import bridge

KINDS = Path(bridge.__file__).with_name("MmioErrorKind.scala")


def test_the_register_describes_the_error_kinds_in_their_order():
    """The code in the register `mmio_error` is a kind's place in the Scala enumeration
    MmioErrorKind.
    """
    kinds = re.findall(r"^ *val (\w+) *= newElement\(\)", KINDS.read_text(), re.MULTILINE)
    assert len(kinds) == 8
    assert list(bridge.ERROR_KINDS) == kinds


def test_every_code_is_in_the_description():
    """The description of the register `mmio_error` says what each code from 0 to 7 means."""
    codes = bridge.error_codes()
    assert codes.startswith("0 no error, 1 unmapped read, ")
    assert codes.endswith(", 7 refused write of less than a register")
