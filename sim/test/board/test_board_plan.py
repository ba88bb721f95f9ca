# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The control command `at CYCLE COMMAND` carries COMMAND out in that cycle of device time, however
late the client's own accesses come."""

import time

import pytest

from sim.errors import BoardFailed
from sim.test.board.board_client import wait_until

SOON = 1 << 17  # a cycle that a board reaches only long after a client has enumerated its card


def planned(board):
    wait_until(lambda: not board.stats()["planned"], "the plan's end")
    return board.stats()


def test_a_planned_write_arrives_like_the_hosts_own(start_board):
    """A register write that is planned for a cycle appears on CQ after that cycle and not before.
    The host then reads the new value."""
    with start_board() as board:
        card = board.card()
        scratch = card.address("ctrl_scratch")
        card.write("ctrl_scratch", 1)
        assert card.read("ctrl_scratch") == 1
        board.command("clear")
        for cycle, what in ((0, "mark"), (1, f"write {scratch} 0xcafe"), (500, "mark")):
            board.command(f"at {SOON + cycle} {what}")
        before, after = (planned(board)["marks"][mark]["cq"]["tlps"] for mark in "01")
        assert (before, after) == (0, 1)
        assert card.read("ctrl_scratch") == 0xCAFE


def test_marks_are_as_far_apart_as_they_were_planned(start_board):
    """Two marks (copies of the board's counters) are taken exactly as many cycles apart as planned.
    They are numbered in the order of their cycles."""
    with start_board() as board:
        for cycle in (SOON + 12_345, SOON):
            board.command(f"at {cycle} mark")
        marks = planned(board)["marks"]
        assert marks["1"]["cycle"] - marks["0"]["cycle"] == 12_345
        assert marks["0"]["violations"] == 0


def test_device_time_passes_until_the_last_command_only(start_board):
    """Device time of an idle board runs until the last command planned by `at`, and then stands
    still."""
    with start_board() as board:
        board.command(f"at {SOON} mark")
        planned(board)
        time.sleep(0.2)
        cycles = board.stats()["cycles"]
        time.sleep(0.2)
        assert SOON < board.stats()["cycles"] == cycles < SOON + 1000


def test_a_cycle_that_has_passed_is_refused(start_board):
    """The board refuses to plan a command for a cycle that has passed, since the command's effect
    would depend on when the client sent it."""
    with start_board() as board:
        board.command(f"at {SOON} mark")
        planned(board)
        with pytest.raises(BoardFailed, match="is not ahead"):
            board.command(f"at {SOON} mark")


def test_clear_and_a_client_that_leaves_end_the_plan(start_board):
    """The command `clear` drops all planned commands, and so does a client's disconnect. So they
    cannot disturb the next measurement."""
    with start_board() as board:
        board.command("at 1000000000 mark")
        assert board.command("clear")["planned"] == 0
        client = board.connect()
        client.greet()
        board.command("at 1000000000 mark")
        client.close()
        wait_until(lambda: not board.stats()["planned"], "the plan's end")


def test_a_planned_command_that_fails_is_in_the_log(start_board):
    """If a planned command fails, the board's log names it, since no client waits for an answer to
    it."""
    with start_board() as board:
        board.command(f"at {SOON} write 1 1")
        assert not planned(board)["marks"]
    assert "planned 'write 1 1'" in board.output
