# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The tables of gateware/README.md that repeat offsets and bits agree with the gateware."""

import re
from pathlib import Path

import pytest

from gateware.dma import notices

HERE = Path(__file__).parent
README = (HERE.parent / "README.md").read_text()
BASE = "pcie_notices0_"


def rows(head):
    """Return the cells of each row of the table in gateware/README.md that begins with the row
    `head`.
    """
    table = README.split(head, 1)[1].split("\n\n", 1)[0]
    lines = [line for line in table.splitlines()[1:] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def mapped():
    """Return {register: offset in bytes from the first one} for the registers of the notices, from
    csr_map.txt.
    """
    lines = [line.split() for line in (HERE / "csr_map.txt").read_text().splitlines()]
    places = {name: int(place, 16) for place, *_, name in lines if name.startswith(BASE)}
    return {name[len(BASE) :]: place - min(places.values()) for name, place in places.items()}


def test_the_registers_of_the_notices_are_where_the_page_says():
    """gateware/README.md lists each register of
    pcie_notices0_* with the offset that LiteX gave it.
    """
    found = {
        register.strip("`"): int(offset.split(",")[0], 16)
        for register, offset, _ in rows("| register | offset | content |")
    }
    assert found == mapped()


@pytest.mark.parametrize(
    "kind, layout", [("record", notices.RECORD), ("status line", notices.STATUS_LINE)]
)
def test_the_layouts_of_the_notices_are_those_of_the_page(kind, layout):
    """gateware/README.md lists each field of records and status lines at its offset, and no other
    field.
    """
    table = rows("| in | offset | type | content |")
    assert [int(offset) for where, offset, _, _ in table if where == kind] == list(layout.values())


def test_the_bits_of_the_notices_are_those_of_the_page():
    """gateware/README.md lists the bits of `control` and of a record's flags with their values, in
    order.
    """
    control = next(
        text for name, _, text in rows("| register | offset | content |") if name == "`control`"
    )
    assert [int(bit) for bit in re.findall(r"\b\d\b(?= (?:records|line))", control)] == list(
        notices.CONTROL.values()
    )
    flags = next(
        text for _, offset, _, text in rows("| in | offset | type | content |") if offset == "4"
    )
    assert [int(bit) for bit in re.findall(r"(?:^flags: |; )(\d)", flags)] == list(
        notices.RECORD_FLAGS.values()
    )
