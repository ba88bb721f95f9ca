# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util peek and poke with a stand-in for the card."""

import pytest

from software.test.standin.card_standin import SCRATCH_RESET


@pytest.fixture
def standin(card):
    with card() as standin:
        yield standin


def test_a_register_has_a_name_and_a_place(util, standin, device):
    """peek gives the same value by a register's name and by its offset in BAR0."""
    named = util.json(device, "peek", "ctrl_scratch")[1]
    placed = util.json(device, "peek", hex(named["offset_bytes"]))[1]
    assert named["value"] == placed["value"] == SCRATCH_RESET
    assert (named["register"], placed["register"]) == ("ctrl_scratch", None)
    assert util.run("-d", device, "peek", "ctrl_scratch").stdout == f"0x{SCRATCH_RESET:08x}\n"


@pytest.mark.parametrize("place", ["ctrl_scratch", "0x4"])
def test_poke_writes_and_says_nothing(util, standin, device, place):
    """The command poke writes the value to the card's register and prints nothing."""
    result = util.run("-d", device, "poke", place, "0xcafe0001")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert standin.scratch() == 0xCAFE0001


@pytest.mark.parametrize(
    "arguments, status, sentence",
    [
        (["peek"], 2, "one place"),
        (["peek", "1", "2"], 2, "one place"),
        (["peek", "--bar", "6", "0"], 2, "from 0 to 5"),
        (["peek", "--width", "6", "0"], 2, "4 or 8"),
        (["peek", "ctrl_scratchy"], 1, "the nearest is ctrl_scratch"),
        (["peek", "0x2"], 1, "not a multiple of the access's 4"),
        (["peek", "0x20000"], 1, "behind the end of BAR0, which has 0x20000"),
        (["peek", "--bar", "4", "0"], 1, "BAR4: the card has none there"),
        (["poke", "ctrl_scratch"], 2, "a place and a value"),
        (["poke", "ctrl_scratch", "red"], 2, "must be a number"),
        (["poke", "ctrl_scratch", "0x100000000"], 1, "does not fit into the 32 bits"),
    ],
)
def test_what_cannot_be_read_or_written_is_a_sentence(
    util, standin, device, arguments, status, sentence
):
    """peek and poke end with status 2 for a wrong command line, and with status 1 for a register
    name, an address or a value that does not fit the card.
    """
    result = util.run("-d", device, *arguments)
    assert result.returncode == status
    assert sentence in result.stderr and len(result.stderr.splitlines()) <= 2
