# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/cpu.py: the cost of the management CPU in the host's instructions."""

from types import SimpleNamespace

import pytest

from sim.rows import cpu
from sim.rows.measure import Conditions

AT = Conditions()
WITHOUT, BUILT = SimpleNamespace(name="without"), SimpleNamespace(name="built")


def counting(monkeypatch, cost):
    """Replace cpu.counted() by a stand-in: a cycle of a board costs `cost["none"]`,
    `cost["asleep"]` or `cost["awake"]` instructions, by its management CPU. The start of a board
    costs 7 million more."""

    def counted(built, at, cycles, raw):
        kind = "awake" if raw else "asleep" if built is BUILT else "none"
        return 7_000_000 + cost[kind] * cycles, 500 + cycles

    monkeypatch.setattr(cpu, "counted", counted)
    monkeypatch.setattr(cpu, "busy_image", lambda: b"image")
    monkeypatch.setattr(cpu.shutil, "which", lambda _: "valgrind")
    monkeypatch.setattr(cpu.image, "compiler", lambda: "gcc")


def test_a_rows_value_is_the_ratio_of_two_cycles(monkeypatch):
    """The row `sim/cpu/awake` has the cost of a cycle with a CPU that never sleeps over that with a
    sleeping CPU. The row `sim/cpu/asleep` has the latter over the cost without a CPU. The board's
    start does not count."""
    cost = {"none": 1000, "asleep": 1010, "awake": 1111}
    counting(monkeypatch, cost)
    rows = {entry.id: entry for entry in cpu.rows(WITHOUT, BUILT, AT)}
    assert rows["sim/cpu/awake"].value == pytest.approx(1.1)
    assert rows["sim/cpu/asleep"].value == pytest.approx(1.01)
    assert rows["sim/cpu/awake"].conditions["instructions_per_cycle"] == cost
    assert rows["sim/cpu/awake"].limit == 1.03 and rows["sim/cpu/awake"].ratio < 1


@pytest.mark.parametrize("tool", ["valgrind", "compiler"])
def test_without_its_tools_a_row_says_so(monkeypatch, tool):
    """Without valgrind or the firmware's compiler the rows `sim/cpu/*` have no value, but a reason
    why nothing was counted."""
    counting(monkeypatch, {})
    if tool == "valgrind":
        monkeypatch.setattr(cpu.shutil, "which", lambda _: None)
    else:
        monkeypatch.setattr(cpu.image, "compiler", lambda: None)
    rows = list(cpu.rows(WITHOUT, BUILT, AT))
    assert [entry.value for entry in rows] == [None, None]
    assert all("not counted" in entry.reason for entry in rows)
