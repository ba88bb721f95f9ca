# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""sim/rows/area.py: what Yosys has found becomes rows, and what it refuses becomes a sentence.

Yosys itself is not run here: test_synthesis_gateware.py tests the numbers.
"""

import pytest

from sim.errors import BuildError
from sim.rows import area
from sim.rows.results import commit

PARTS = (
    "endpoint_rows",
    "engine_rows",
    "monitor_rows",
    "capture_rows",
    "commands_rows",
    "card_rows",
    "cpu_rows",
    "flat_rows",
)


@pytest.fixture
def folders(monkeypatch):
    """Replace each synthesis by a stand-in that gives one row. Return {name of the synthesis
    function: the folder that it was given}."""
    given = {}

    def stand_in(part):
        def found(folder):
            given[part] = folder
            return [{"id": f"area/{part}", "value": len(given), "unit": "cells"}]

        return found

    for part in PARTS:
        monkeypatch.setattr(area, part, stand_in(part))
    return given


def test_every_part_has_its_rows_from_its_folder(folders, tmp_path):
    """area.rows() yields the rows of all syntheses in order, each with the commit that was
    measured.

    Parts that are designs of their own, such as the DMA engines or the management CPU, are
    synthesised in folders of their own.
    """
    rows = list(area.rows(tmp_path))
    assert [row.id for row in rows] == [f"area/{part}" for part in PARTS]
    assert [row.value for row in rows] == [place + 1 for place in range(len(PARTS))]
    assert {row.commit for row in rows} == {commit()}
    assert folders == {
        "endpoint_rows": tmp_path,
        "engine_rows": tmp_path / "engines",
        "monitor_rows": tmp_path / "monitor",
        "capture_rows": tmp_path / "capture",
        "commands_rows": tmp_path / "commands",
        "card_rows": tmp_path / "card",
        "cpu_rows": tmp_path / "cpu",
        "flat_rows": tmp_path,
    }


@pytest.mark.parametrize("error", [ValueError, RuntimeError])
def test_a_synthesis_that_fails_ends_with_its_sentence(folders, monkeypatch, tmp_path, error):
    """An error of a synthesis becomes a BuildError: `make bench` shows its sentence alone."""

    def refuse(_):
        raise error("Yosys 0.9 is too old")

    monkeypatch.setattr(area, "monitor_rows", refuse)
    with pytest.raises(BuildError, match="^area and depth: Yosys 0.9 is too old$"):
        list(area.rows(tmp_path))
