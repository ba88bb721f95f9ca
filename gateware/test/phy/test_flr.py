# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of phy/flr.py, which carries out function level resets of the card."""

import pytest

from gateware.numbers import SYS_CLK_FREQ
from gateware.phy.flr import RESET_CYCLES, FunctionLevelReset
from tools.testing.stream_model import simulate

DRAIN_CYCLES = 50


def run(idle_after):
    """Run one function level reset. Return {signal: cycles in which it was high}.

    `idle_after` is the number of cycles from the host's request until the card is idle; None:
    never.
    """
    dut = FunctionLevelReset(drain_seconds=DRAIN_CYCLES / SYS_CLK_FREQ)
    seen = {name: [] for name in ("stop", "reset", "done", "busy", "in_process")}

    def host():
        for cycle in range(200):
            if cycle == 10:
                yield dut.in_process.eq(1)
            if idle_after is not None and cycle == 10 + idle_after:
                yield dut.idle.eq(1)
            for name, cycles in seen.items():
                if (yield getattr(dut, name)):
                    cycles.append(cycle)
            # The model of the hard block withdraws its request for a reset two cycles after the
            # acknowledgement.
            if seen["done"] and cycle == seen["done"][0] + 2:
                yield dut.in_process.eq(0)
            yield

    simulate(dut, [host()])
    return seen


@pytest.mark.parametrize("idle_after", [0, 5, 30, None])
def test_reset_comes_when_nothing_is_outstanding_or_the_wait_is_over(idle_after):
    """The function level reset begins once the card is idle, or at the latest after the drain
    time.
    """
    seen = run(idle_after)
    waits = min(DRAIN_CYCLES, idle_after) if idle_after is not None else DRAIN_CYCLES
    start = seen["in_process"][0]
    assert waits <= seen["reset"][0] - start <= waits + 4
    assert RESET_CYCLES <= len(seen["reset"]) <= RESET_CYCLES + 1


def test_nothing_begins_from_the_request_to_the_acknowledgement():
    """`stop` is high without a gap from the host's request for a function level reset to the one
    acknowledgement, and in all of the reset.
    """
    seen = run(idle_after=20)
    assert len(seen["done"]) == 1
    assert seen["stop"] == list(range(seen["stop"][0], seen["done"][0] + 1))
    assert set(seen["reset"]) <= set(seen["stop"])


def test_one_request_is_one_reset():
    """One request for a function level reset makes one reset, although the request lasts two cycles
    longer than the acknowledgement.
    """
    seen = run(idle_after=0)
    assert len(seen["done"]) == 1
    assert seen["reset"] == list(range(seen["reset"][0], seen["done"][0] + 1))
    assert seen["busy"][-1] <= seen["in_process"][-1] + 2
