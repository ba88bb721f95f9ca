# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test single sources of liblitepcie by C programs that play the card, so no card is needed.

Each program of software/liblitepcie/test/parts has the name of the source that it tests.
"""

import pytest

from software.test.software_build import build_unchecked, run_program
from tools.testing.seeds import SHIFT


@pytest.fixture(scope="session")
def parts():
    """Return the folder of the C test programs, which are built with sanitizers."""
    return build_unchecked("SANITIZE=1") / "test"


def test_a_capability_table_is_read_as_written_or_refused(parts):
    """capability.c reads a table as it was written, refuses each rule's breach with a sentence, and
    survives random words. A table with one wrong bit is never used.
    """
    run_program(parts / "capability", str(SHIFT + 1))


def test_registers_are_known_by_the_blocks_of_a_card(parts):
    """names.c finds registers where their blocks lie, names the nearest for a wrong name, and reads
    and writes values whole.
    """
    run_program(parts / "names")


def test_the_registers_that_the_library_uses_are_found(parts):
    """map.c finds the library's registers on cards with all blocks, with few and with several
    channels, and names the one that a card lacks.
    """
    run_program(parts / "map")


def test_names_of_a_file_are_taken_over_as_a_whole_or_not(parts, tmp_path):
    """csr_file.c takes over the names of a csr.json. A file with random damage is taken over or
    refused, and one that is refused changes nothing.
    """
    run_program(parts / "csr_file", tmp_path, str(SHIFT + 1))


def test_structs_of_older_and_newer_programs_are_copied_as_far_as_they_reach(parts):
    """sized.c copies what both sides know of a struct and refuses one without a size. features.c
    tells what a card can do by its blocks and by the way to it.
    """
    run_program(parts / "sized_features")


def test_what_the_player_has_done_is_told_also_if_reads_are_given_up(parts):
    """player.c reads the results again if one may not be the card's answer, and tells of a card
    that does not answer.
    """
    run_program(parts / "player")


def test_the_memory_of_a_ring_lives_until_its_last_user_drops_it(parts):
    """memory.c gives pages and file back with the last user, leaves a program's own memory mapped,
    and seals the size of a file.
    """
    run_program(parts / "memory")
