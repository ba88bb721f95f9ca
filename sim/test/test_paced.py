# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""sim/paced.py: which runs there are, and at what pace; test_user_cost.py makes real ones."""

from pathlib import Path

import pytest

from sim import paced
from sim.errors import TestFailed

STEADY = Path("test/steady")


def kernel(monkeypatch, *costs):
    """What the kernel takes for a batch: in real time, then whenever it is simulated."""
    real, *simulated = costs

    def report(program, pause, rounds):
        assert program == STEADY.with_name("kernel_calls") and rounds > 0
        return {"cpu_ns": real if pause == paced.BATCH_US else simulated.pop(0)}

    monkeypatch.setattr(paced, "_report", report)


@pytest.mark.parametrize("real, simulated, slowdown", [
    (20_000, 100_000, 5), (20_000, 20_000, 1), (20_000, 15_000, 1), (20_000, 1_000_000, 10),
])
def test_the_slowdown_is_a_ratio_within_bounds(monkeypatch, real, simulated, slowdown):
    """Slow motion makes nothing cheaper, and more than ten times is not believed."""
    kernel(monkeypatch, real, simulated)
    assert paced.slowdown(STEADY) == slowdown


def at(pace, ticks):
    return paced.Run(pace, {"bytes": 8192 * paced.BUFFERS, "ticks": ticks, "cpu_ns": 0})


def test_the_pace_is_the_real_one_until_that_does_not_keep_up(monkeypatch):
    """Each corrected run has a slowdown of its own; the first that keeps up is the last."""
    ticks = iter([1000, 1200, 1100, 1011, 1009])
    kernel(monkeypatch, 10_000, 20_000, 50_000)
    monkeypatch.setattr(paced, "stream", lambda program, board, way, pace: at(pace, next(ticks)))
    free, runs = paced.attempts(STEADY, None, "c2h")
    assert free.cycles_per_us == 0
    assert [run.cycles_per_us for run in runs] == [250, 250, 125, 50]
    assert paced.keeps_up(runs[-1], free) and not paced.keeps_up(runs[-2], free)


def test_who_never_keeps_up_has_six_runs(monkeypatch):
    """So that a test of it ends."""
    kernel(monkeypatch, 10_000, *[20_000] * 4)
    monkeypatch.setattr(
        paced, "stream", lambda program, board, way, pace: at(pace, 2000 if pace else 1000)
    )
    free, runs = paced.attempts(STEADY, None, "h2c")
    assert len(runs) == 6 and not paced.keeps_up(runs[-1], free)


def test_a_run_that_fails_shows_the_board_s_last_words(monkeypatch):
    """What the program says of a board that left is not why it left."""

    class Board:
        socket = Path("board.sock")

        def command(self, line):
            assert line == "set pace client:250"

        def tail(self):
            return "rule 7 broken"

    def fails(*command):
        raise TestFailed("steady: the board closed the connection")

    monkeypatch.setattr(paced, "_report", fails)
    with pytest.raises(TestFailed, match="(?s)closed the connection.*rule 7 broken"):
        paced.stream(STEADY, Board(), "c2h", paced.PACE)
