# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of faults in completions: what the root complex sends, and that the card works after a
reset.

How the gateware answers a bad completion is not tested in this file: it may hang until a reset.
"""

import pytest

from sim.test.board.board_client import H2C_CHECK, HIGH_MEMORY, pattern, slices, wait_until
from sim.test.link.root_probe import run

TOTAL = 32 * 1024
UR, CA = 1, 4
# These are error codes in the descriptor that the hard block puts before a completion on RC
# (PG213).
BYTE_COUNT, ATTRIBUTES, LOWER_ADDRESS, INVALID_TAG, TIMEOUT = 3, 4, 5, 6, 9


def answers(fault, *settings):
    """Run two reads of 256 bytes with the tags 1 and 2, each split into pieces of 64 bytes; returns
    their completions."""
    asked = ["mrd 1000 64 1", "mrd 2000 64 2"]
    return run("size 64", *settings, f"fault {fault}", *asked, "run 4000").completions


def whole(completions, tag):
    return b"".join(c.data for c in completions if c.tag == tag) == bytes(range(256))


@pytest.mark.parametrize("fault,status", [("ur", UR), ("ca", CA)])
def test_a_refused_read_is_one_completion_without_data(fault, status):
    """A read refused by UR or CA gets one completion without data. Its status, byte count and tag
    are right; the other read is answered in full."""
    seen = answers(f"{fault}:2")
    [refusal] = [c for c in seen if c.status]
    assert (refusal.status, refusal.tag, refusal.dwords) == (status, 2, 0)
    assert (refusal.byte_count, refusal.low, refusal.done, refusal.data) == (256, 0, True, b"")
    assert whole(seen, 1)


def test_poison_marks_one_completion():
    """`poison` sets the EP bit in one completion, and the hard block reports it. The poisoned
    completion still has all of its data.
    """
    seen = answers("poison:3")
    assert [c.poisoned for c in seen] == [i == 2 for i in range(8)]
    assert whole(seen, 1) and whole(seen, 2)


def test_an_unexpected_completion_is_one_too_many():
    """`unexpected` adds one completion with an unused tag. The hard block passes it on with the
    error code for an invalid tag."""
    seen = answers("unexpected:3")
    [stray] = [c for c in seen if c.tag not in (1, 2)]
    assert (stray.tag, stray.error, len(seen)) == (1 ^ 0x80, INVALID_TAG, 9)
    assert whole(seen, 1) and whole(seen, 2)


def test_a_duplicate_comes_after_the_original():
    """`duplicate` sends the last completion of a read twice. The hard block passes the second copy
    on with its error code for an invalid tag, since the read has ended.
    """
    seen = answers("duplicate")
    last, again = [c for c in seen if c.tag == 1][-2:]
    assert (last.error, again.error, len(seen)) == (0, INVALID_TAG, 9)
    assert (last.data, last.byte_count) == (again.data, again.byte_count)
    assert whole(seen, 2)


def test_a_wrong_byte_count_is_above_what_is_left():
    """`byte-count` makes one completion claim 64 bytes more than are left of its read. The hard
    block passes it on with error code 3."""
    seen = answers("byte-count:2")
    assert [c.byte_count for c in seen[:4]] == [256, 192 + 64, 128, 64]
    assert [c.error for c in seen] == [0, BYTE_COUNT, 0, 0, 0, 0, 0, 0]


def test_wrong_attributes_are_named():
    """`attributes` clears the attributes in one completion. The hard block passes it on with error
    code 4, and no data is missing."""
    seen = answers("attributes:2")
    assert [c.error for c in seen] == [0, ATTRIBUTES, 0, 0, 0, 0, 0, 0]
    assert whole(seen, 1) and whole(seen, 2)


def test_a_wrong_lower_address_is_named():
    """`lower-address` makes one completion's lower address wrong by 32 bytes. The hard block passes
    it on with error code 5."""
    seen = answers("lower-address:2")
    assert [c.low % 256 for c in seen[:4]] == [0, 64 ^ 32, 128, 192]
    assert [c.error for c in seen] == [0, LOWER_ADDRESS, 0, 0, 0, 0, 0, 0]


def test_nothing_follows_a_malformed_completion_but_the_timeout():
    """After a malformed completion its read gets no further ones. The hard block's completion
    timeout ends the read, with error code 9."""
    asked = ["config 98 1 1", "fault malformed-completion:2", "mrd 1000 64 1", "mrd 2000 64 2"]
    seen = run("size 64", *asked, "run 110000")
    assert whole(seen.of(1), 1)
    broken, end = seen.of(2)
    assert (broken.error, broken.done, broken.dwords) == (0, False, 16)
    assert (end.error, end.done, end.data) == (TIMEOUT, True, b"")


def test_a_dropped_completion_is_a_read_without_answer():
    """`drop-completion:2` leaves the second read without any completion; the first is answered in
    full."""
    seen = answers("drop-completion:2")
    assert {c.tag for c in seen} == {1} and whole(seen, 1)


def start_h2c(card):
    memory = card.memory(HIGH_MEMORY, TOTAL)
    memory.data[:] = pattern(TOTAL)
    card.write("pattern_control", H2C_CHECK)
    card.program("h2c", slices(HIGH_MEMORY, TOTAL, 4096))
    card.start("h2c")
    return memory


@pytest.mark.parametrize(
    "fault",
    [
        "ur",
        "ca",
        "poison",
        "unexpected",
        "duplicate",
        "byte-count",
        "attributes",
        "lower-address",
        "drop-completion",
        "malformed-completion",
    ],
)
def test_the_next_client_works(start_board, fault):
    """After each kind of bad completion a device reset makes the card usable: the next client moves
    data and finds no wrong beat."""
    with start_board("--fault", f"{fault}:3", "--rules", "warn", violations=None) as board:
        card = board.card()
        # without a completion timeout the reset would wait for lost reads for ever
        card.give_up_reads()
        start_h2c(card)
        wait_until(lambda: board.stats()["faults"] == 1, "the fault")
        end = board.stats()["cycles"] + 10_000
        wait_until(
            lambda: board.stats()["cycles"] > end or not busy(board), "the gateware's answer"
        )
        beats, wrong = card.read("pattern_h2c_beats"), card.read("pattern_h2c_errors")
        print(f"{fault}: {beats} of {TOTAL // 32} beats, {wrong} wrong")
        card.client.reset()
        card.close()
        board._clients.remove(card)
        card = board.card()
        start_h2c(card)
        assert card.h2c_check(TOTAL // 32) == 0


def busy(board):
    before = board.stats()["cycles"]
    return any(board.stats()["cycles"] != before for _ in range(20))


@pytest.mark.parametrize("chosen,after", [(1, 100_000), (0, 50_000_000), (0x10, None)])
def test_a_lost_completion_times_out(chosen, after):
    """When the completion is dropped, the hard block ends the read after the time set in Device
    Control 2: error code 9 and no data. With the timeout disabled the read never ends."""
    asked = [f"config 98 1 {chosen:x}", "fault drop-completion", "mrd 1000 64 1"]
    seen = run(*asked, f"run {(after or 200_000) + 20}").completions
    assert [(c.tag, c.error, c.done, c.data) for c in seen] == (
        [(1, TIMEOUT, True, b"")] if after else []
    )
    assert all(after <= c.ns <= after + 8 for c in seen)
