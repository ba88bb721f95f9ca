# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the board's plan of commands for later cycles, run by plan_probe.cpp: each command comes
in its cycle, and in order."""

import subprocess
from pathlib import Path

import pytest

from sim.board.build import BOARD, CXX_FLAGS

PROBE = Path(__file__).with_name("plan_probe.cpp")


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """Return a function that gives lines to a new run of the program plan_probe, and returns the
    lines that the program prints."""
    program = tmp_path_factory.mktemp("plan") / "plan_probe"
    sources = [PROBE, BOARD / "control" / "plan.cpp"]
    command = ["g++", *CXX_FLAGS.split(), f"-I{BOARD}", *sources, "-o", program]
    subprocess.run(command, check=True)

    def obey(*lines):
        return subprocess.run(
            [program], input="\n".join(lines), capture_output=True, text=True, check=True
        ).stdout.splitlines()

    return obey


def test_a_command_comes_in_its_cycle_and_not_before(plan):
    """The board's plan gives out a command once: in the cycle for which it is planned, not in one
    before, and not again after it."""
    answers = plan("add 0 100 mark", "take 99", "take 100", "take 101")
    assert answers == ["added", ".", "mark", ".", "."]


def test_all_commands_of_a_cycle_come_in_the_order_of_their_arrival(plan):
    """The board's plan gives out all commands for the same cycle in that cycle, in the order in
    which they were added."""
    answers = plan(*(f"add 0 100 {name}" for name in "bac"), "take 100")
    assert answers == ["added"] * 3 + ["b", "a", "c", "."]


def test_commands_that_are_due_at_a_time_come_in_the_order_of_cycles(plan):
    """If several cycles pass at once, the commands due in them are taken in the order of cycles."""
    answers = plan("add 0 102 late", "add 0 100 early", "add 0 101 between", "take 200")
    assert answers == ["added"] * 3 + ["early", "between", "late", "."]


def test_the_cycle_that_it_is_and_those_before_are_refused(plan):
    """The board's plan refuses a command for a past cycle, and one for the present cycle: whether
    that one came in time would depend on the client's timing."""
    refusal = "cycle {} is not ahead: it is 100"
    answers = plan(*(f"add 100 {cycle} mark" for cycle in (99, 100, 101)), "take 100", "take 101")
    assert answers == [refusal.format(99), refusal.format(100), "added", ".", "mark", "."]
