# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The power states D0 and D3hot of the card: in the register PMCSR, at the hard block's pins, and
what the card may send in them."""

import pytest

from sim.test.board.bench_card import ACK_FLR, CONTROL, MEMORY0, POWER_CONTROL, SEND_RQ, request
from sim.test.board.board_client import HIGH_MEMORY, MEMORY_SPACE, wait_until

D0, D1, D2, D3 = range(4)
PIN_D0_ACTIVE, PIN_D3 = 1, 4


def test_d3hot_and_back(bench):
    """PMCSR takes D0 and D3hot. The card acknowledges each change of the power state, and keeps its
    memory."""
    with bench() as (_, card):
        card.write(MEMORY0, 0x77)
        assert card.pins()["power_state"] == PIN_D0_ACTIVE
        card.config_write(POWER_CONTROL, D3, 2)
        assert card.config_read(POWER_CONTROL, 2) & 3 == D3
        card.config_write(POWER_CONTROL, D0, 2)
        assert card.config_read(POWER_CONTROL, 2) & 3 == D0
        assert card.seen()[2] == 2
        assert card.read(MEMORY0) == 0x77, "the change must not reset the card"


@pytest.mark.parametrize("state", [D1, D2])
def test_states_that_do_not_exist(bench, state):
    """If the host writes D1 or D2, which the card does not support, to PMCSR, the power state does
    not change."""
    with bench() as (_, card):
        card.config_write(POWER_CONTROL, state, 2)
        assert card.config_read(POWER_CONTROL, 2) & 3 == D0 and card.seen()[2] == 0
        card.config_write(POWER_CONTROL, D3, 2)
        card.config_write(POWER_CONTROL, state, 2)
        assert card.config_read(POWER_CONTROL, 2) & 3 == D3


def test_before_it_is_enabled_the_function_is_not_active(bench):
    """The power state pins of the hard block show D0 active only while memory space or bus master
    is enabled."""
    with bench("--bar2", "64K") as (board, card):
        card.config_write(0x04, 0, 2)
        assert card.pins()["power_state"] != PIN_D0_ACTIVE
        card.config_write(0x04, MEMORY_SPACE, 2)
        assert card.pins()["power_state"] == PIN_D0_ACTIVE


def test_in_d3hot_the_bars_answer_nothing(bench):
    """In D3hot a host read of a BAR gives all ones and a host write is lost. The board counts both.
    Back in D0 reads and writes work."""
    with bench() as (board, card):
        card.write(MEMORY0, 1)
        card.config_write(POWER_CONTROL, D3, 2)
        assert card.read(MEMORY0) == 0xFFFF_FFFF
        card.write(MEMORY0, 2)
        card.config_write(POWER_CONTROL, D0, 2)
        assert card.read(MEMORY0) == 1
        assert board.stats()["mmio_errors"] == 2


def test_the_card_sends_nothing_in_d3hot(bench):
    """If the card sends a request in D3hot, it breaks the rule `power-state`."""
    with bench("--rules", "warn", "--mmio-rtt", "0", violations=["power-state"]) as (board, card):
        card.memory(HIGH_MEMORY, 4096)
        card.prepare([*request(HIGH_MEMORY, 1, write=True), 1])
        card.later(600, SEND_RQ, 5)  # the card sends the packet 600 cycles from now, in D3hot
        card.config_write(POWER_CONTROL, D3, 2)
        # each configuration write lets eight cycles of device time pass
        for _ in range(600 // 8 + 1):
            card.config_write(POWER_CONTROL, D3, 2)
        wait_until(lambda: board.stats()["violations"] == {"power-state": 1}, "the breach")


def test_a_change_that_is_not_acknowledged_breaks_a_rule(bench):
    """If the card does not acknowledge a change of the power state, it breaks the rule
    `power-state-ack`, and the simulated host goes on after 50 us. On silicon the hard block would
    answer no configuration request any more."""
    with bench("--rules", "warn", violations=["power-state-ack"]) as (board, card):
        card.write(CONTROL, ACK_FLR)
        card.read(CONTROL)
        before = board.stats()["cycles"]
        card.config_write(POWER_CONTROL, D3, 2)
        assert card.config_read(POWER_CONTROL, 2) & 3 == D3
        assert board.stats()["cycles"] - before >= 12_500


def test_a_function_level_reset_wakes_it_up(bench):
    """A function level reset in D3hot brings the function to D0."""
    with bench("--flr") as (_, card):
        card.config_write(POWER_CONTROL, D3, 2)
        card.client.reset()
        assert card.config_read(POWER_CONTROL, 2) & 3 == D0
        card.enumerate()
        assert card.read(0) == 0x0BEC4A4D


def test_a_change_that_a_reset_interrupts_is_forgotten(bench):
    """If a reset comes before the card has acknowledged a change of the power state, no rule is
    broken. The card has the full 50 us to acknowledge the next change."""
    with bench() as (board, card):
        card.write(CONTROL, ACK_FLR)
        card.read(CONTROL)
        # At this pace the 50 us that the card has to acknowledge the change last longer than the
        # test.
        board.command("set pace 20000")
        card.config_write(POWER_CONTROL, D3, 2)
        board.command("fault hot-reset:100000")
        board.command("set pace 0")
        card.config_write(POWER_CONTROL, D3, 2)
        assert card.config_read(POWER_CONTROL, 2) & 3 == D3 and board.stats()["violations"] == {}
