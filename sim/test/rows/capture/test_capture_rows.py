# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/capture/rate.py on the simulated card with the capture block."""

import pytest

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.rows import results
from sim.rows.capture import rate
from sim.rows.measure import Conditions


@pytest.fixture(scope="module")
def rows():
    """Measure the result rows capture/* once. Returns {id: row}."""
    built = artefacts.build(DEFAULT, capture=True)
    found = rate.rows(built.board, built.gateware / "csr.json", Conditions())
    return {entry.id: entry for entry in found}


def test_each_size_comes_at_its_limit(rows):
    """For each size of frames, the card writes their records to host memory at 99 % or more of the
    lowest limit among the record builder, RQ and the wire. It breaks no rule."""
    assert len(rows) == 3 * len(rate.SIZES) + 1
    for name, entry in rows.items():
        print(f"{name}: {entry.value:.3f} of {entry.limit:.3f} {entry.unit}, {entry.binds}")
    for name, entry in rows.items():
        assert 0.99 <= entry.ratio <= results.ROUNDING, name
        assert entry.violations == 0, name


def test_frames_of_64_bytes_come_at_73_million_a_second(rows):
    """The card captures Ethernet frames of 64 B, the smallest, at 73 million a second at MPS
    256."""
    assert rows["capture/mpps/64"].value >= 73


def test_a_row_is_the_same_at_a_second_run(rows):
    """A capture row is measured in device time only, so a second run gives the same digits."""
    built = artefacts.build(DEFAULT, capture=True)
    again = next(rate.rows(built.board, built.gateware / "csr.json", Conditions()))
    assert again.value == rows[again.id].value
