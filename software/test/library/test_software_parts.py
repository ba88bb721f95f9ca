# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test single sources of liblitepcie by C programs that imitate the card, so no card is needed.

Each program is in software/liblitepcie/test/parts or a folder in it. The docstring of each test
names the source that its program tests.
"""

import pytest

from software.test.software_build import build_unchecked, run_program
from tools.testing.seeds import SHIFT


@pytest.fixture(scope="session")
def parts():
    """Return the folder of the C test programs, which are built with sanitizers."""
    return build_unchecked("SANITIZE=1") / "test"


def test_a_capability_table_is_read_as_written_or_refused(parts):
    """capability.c reads a capability table as it was written. It refuses a table that breaks a
    rule, with an error message. The test makes two kinds of damaged tables. If one bit is changed
    and the checksum is not computed again, the table is always refused. If one word is changed and
    the checksum is computed again, the table may be read or refused. In both cases no memory beyond
    the table is accessed.
    """
    run_program(parts / "capability", str(SHIFT + 1))


def test_registers_are_known_by_the_blocks_of_a_card(parts):
    """names.c finds registers at the offsets of their blocks. The error message for an unknown
    name has the known name with the longest beginning in common with it. Registers of two words are
    read and written as one value.
    """
    run_program(parts / "names")


def test_the_registers_that_the_library_uses_are_found(parts):
    """map.c finds the library's registers on cards with all blocks, with few blocks and with
    several DMA channels. If a card lacks a register, the error message names the register.
    """
    run_program(parts / "map")


def test_names_of_a_file_are_taken_over_as_a_whole_or_not(parts, tmp_path):
    """csr_file.c adds the names in a csr.json to those of the card. A file with random damage is
    accepted or refused, and a refused file adds no name.
    """
    run_program(parts / "csr_file", tmp_path, str(SHIFT + 1))


def test_a_burst_of_writes_reaches_any_bar(parts):
    """bar.c makes a burst of writes to BAR0 and to a BAR that is mapped. A burst that does not fit
    is refused and writes nothing.
    """
    run_program(parts / "bar")


def test_a_capture_behind_the_driver_ends_its_waits_in_time(parts):
    """kernel/capture.c returns -ETIMEDOUT, with a sentence that says what to do, in three cases:
    the card's frame generator is to start while a frame of its last start waits for room in the
    ring, the card does not come to rest at a start or a stop, or the card does not copy its counts.
    A driver that is older than the library starts a capture by the card's clock, if the library may
    choose the clock. What else it does not know is refused with a sentence.
    """
    run_program(parts / "kernel_capture")


def test_a_round_of_the_ring_has_few_limits(parts):
    """The library tells the card of released room in eight steps in a round of the ring, and in
    four if the ring has 256 MiB or more: each is a system call behind the driver. The card always
    gets the rest of the ring. Source capture/capture_ring.c."""
    run_program(parts / "capture_limit")


def test_progress_on_the_driver_s_page_ends_the_silence(parts):
    """kernel/counts.c takes the count of finished h2c buffers from the driver's status page, and
    notes that the card is not silent. It refuses a count that cannot be true, and says whether the
    card was reset or is gone if the run has ended.
    """
    run_program(parts / "kernel_counts")


def test_structs_of_older_and_newer_programs_are_copied_as_far_as_they_reach(parts):
    """sized.c copies those members of a struct that the program and the library both have. It
    refuses a struct without a size. It also refuses settings of a program whose struct has members
    that the library does not know, if these are not 0.
    """
    run_program(parts / "sized")


def test_the_features_of_a_card_follow_from_its_blocks_and_the_back_end(parts):
    """features.c finds the features of a card by the card's blocks and by the back end."""
    run_program(parts / "features")


def test_what_the_player_has_done_is_told_also_if_reads_are_given_up(parts):
    """player.c reads the player's results again if a read may have failed, and returns an error if
    the card does not answer.
    """
    run_program(parts / "player")


def test_the_memory_of_a_ring_lives_until_its_last_user_drops_it(parts):
    """memory.c unmaps the memory of a ring and closes the memory's file when the last user drops
    the memory. It never unmaps memory of the program, and seals the size of a file in memory.
    """
    run_program(parts / "memory")


def test_accesses_to_bars_go_through_their_own_mappings(parts):
    """bar.c makes an access through the mapping of its BAR, or by the back end if no mapping can
    serve it, and undoes all mappings. access.c moves the bytes of an access and no others, for each
    width that the CPU has.
    """
    run_program(parts / "access")


def test_a_sleep_on_a_lost_connection_has_a_sentence(parts):
    """sim/backend.c sets a sentence for litepcie_why() when a sleep ends with -ENODEV, also if
    another thread has lost the connection to the simulated board before.
    """
    run_program(parts / "sim_sleep")


def test_a_capture_behind_the_driver_gives_its_memory_back_once(parts):
    """kernel/capture.c and kernel/pages.c make the memory of a capture's ring of the largest pages
    that suit the ring, that the machine has and that the driver accepts. They unmap the memory
    once. Counts of frames and settings are copied from and to the right members of the driver's
    structs.
    """
    run_program(parts / "kernel_pages")


def test_each_error_has_its_meaning_and_its_sentence(parts):
    """error.c gives each error number of the library its own meaning, and cuts a sentence that is
    longer than LITEPCIE_WHY_SIZE.
    """
    run_program(parts / "error")


def test_what_a_direction_waits_for_is_cut_to_its_room(parts):
    """slot.c, which makes the text of litepcie_diagnose(), writes a time in ns, us, ms or s as its
    length suggests, and cuts the text to the room that it has."""
    run_program(parts / "slot_text")


def test_each_read_of_several_gets_one_reply(parts):
    """sim/vfio_user_wire.c sends the requests of several reads at once and takes their replies in
    any order. It refuses a second reply to a read, and a reply to no read, since the word of
    another read would then not be set. It answers all requests of the board that it has received
    together.
    """
    run_program(parts / "vfio_user_wire")
