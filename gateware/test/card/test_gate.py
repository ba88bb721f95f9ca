# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of card/gate.py and commands.py: what the engine refuses, in hardware."""

import pytest

from gateware import numbers
from gateware.card.commands import COMMANDS, PROGRAM, Change, Data, Refusal
from gateware.test.card.card_bench import APPLICATION, PAGE, SECTOR, CardBench

UNLOCK = numbers.FLASH_LAYOUT["unlock"]
LISTED = {command.opcode: command for command in COMMANDS}
# A recognisable golden image at places that wrapped or shortened addresses would hit.
PLACES = (0, SECTOR - PAGE, APPLICATION - PAGE, APPLICATION >> 8)


@pytest.fixture
def bench():
    bench = CardBench(divisor=10**6)
    for place in PLACES:
        bench.chip.load(place, b"golden" * 20)
    return bench


def whole(bench):
    return [bench.chip.contents(place, 120) == b"golden" * 20 for place in PLACES]


@pytest.mark.parametrize(
    "address", [0, APPLICATION - 1, APPLICATION >> 8, 2 * APPLICATION, 0xFF000000]
)
def test_no_opcode_changes_the_golden_image_without_unlock(bench, address):
    """While the flash is locked, none of the 256 opcodes changes a byte of the golden image, at
    addresses inside it and at addresses that wrap around to it. Opcodes that are not listed are
    refused and counted.
    """
    bench.load_page(bytes(PAGE))
    for opcode in range(256):
        refusal = bench.command(opcode, address, PAGE)
        command = LISTED.get(opcode)
        if command is None:
            assert refusal == Refusal.UNKNOWN, hex(opcode)
        else:
            assert (refusal != Refusal.NONE) == (command.change != Change.NONE), hex(opcode)
    bench.run(10**5)
    assert all(whole(bench)) and bench.chip.erased == []
    changes = sum(command.change != Change.NONE for command in COMMANDS)
    assert bench.read("flash_refusals") == 256 - len(COMMANDS) + changes


def test_every_refusal_says_why(bench):
    """A flash command that the card refuses is answered with the code of the rule that it
    breaks.
    """
    bench.load_page(bytes(PAGE))
    assert bench.command(PROGRAM, APPLICATION - PAGE, PAGE) == Refusal.OUTSIDE
    assert bench.command(PROGRAM, 2 * APPLICATION, PAGE) == Refusal.OUTSIDE
    assert bench.command(0x02, APPLICATION, PAGE) == Refusal.SHORT
    assert bench.command(0xC7) == Refusal.ALL
    assert bench.command(0x01) == Refusal.UNKNOWN
    assert bench.command(PROGRAM, APPLICATION, 0) == Refusal.LENGTH
    assert bench.command(PROGRAM, APPLICATION, PAGE + 1) == Refusal.LENGTH
    assert bench.read("flash_refusals") == 7 and all(whole(bench))


def test_the_bounds_are_exact(bench):
    """While the flash is locked, the first and the last page of the application's half may be
    programmed.
    """
    for address in (APPLICATION, 2 * APPLICATION - PAGE):
        bench.load_page(bytes(PAGE))
        assert bench.command(PROGRAM, address, PAGE) == Refusal.NONE
        assert bench.chip.contents(address, PAGE) == bytes(PAGE)
    assert all(whole(bench))


def test_the_unlock_word_opens_until_the_next_reset(bench):
    """Only the unlock word opens the golden image. Any other value and any reset lock it again."""
    bench.load_page(bytes(PAGE))
    for word in (0, 1, UNLOCK ^ 1, UNLOCK >> 8):
        bench.write("flash_unlock", word)
        assert bench.command(PROGRAM, 0, PAGE) == Refusal.OUTSIDE and not bench.status()[1]
    bench.write("flash_unlock", UNLOCK)
    assert bench.command(PROGRAM, 0, PAGE) == Refusal.NONE and bench.status()[1]
    assert bench.chip.contents(0, PAGE) == bytes(PAGE)
    bench.reset()
    bench.wait()
    assert bench.command(PROGRAM, SECTOR, PAGE) == Refusal.OUTSIDE and not bench.status()[1]
    bench.write("flash_unlock", UNLOCK)
    bench.write("flash_unlock", 0)
    assert bench.command(PROGRAM, SECTOR, PAGE) == Refusal.OUTSIDE


def test_an_unlocked_flash_still_refuses_what_is_not_listed(bench):
    """Even with the golden image unlocked, the card refuses flash commands for status, address mode
    and one-time bytes.
    """
    bench.write("flash_unlock", UNLOCK)
    for opcode in (0x01, 0x31, 0xB1, 0x81, 0x61, 0xB7, 0xE9, 0xC5, 0x42, 0xE5, 0xB9, 0x35, 0x32):
        assert bench.command(opcode, 0, PAGE) == Refusal.UNKNOWN, hex(opcode)
    assert bench.chip.broken == []


def test_a_changing_command_is_listed_as_one():
    """Each command of the list that writes data or erases is marked in the list as a change."""
    for command in COMMANDS:
        assert (command.change != Change.NONE) == (
            command.data == Data.WRITE or "erase" in command.about
        ), command
    assert len(LISTED) == len(COMMANDS)
