# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that the hard-block model between ideal user logic and an ideal host reaches the limits of
Gen3 x8.

The rates are compared with the design's table and with limits.py. A slower model would hide what
gateware can reach, and a faster one would promise what silicon cannot do.
"""

import subprocess

import pytest

from sim.board.ideal import build
from sim.rows import model
from sim.rows.results import table

# The design's table of rates in GB/s on Gen3 x8 at 256 bit and 250 MHz, by stream and by payload in
# bytes. On RQ the rate for 128 bytes holds at an MPS of 128 bytes.
DESIGN = {
    "rq": {64: 5.33, 128: 6.40, 256: 7.11, 512: 7.42},
    "rc": {64: 5.33, 128: 6.40, 256: 7.11, 512: 7.48},
    "rc_straddle": {64: 5.93, 128: 6.73, 256: 7.22, 512: 7.48},
    "cc": {64: 5.33, 128: 6.40, 256: 7.11, 512: 7.48},
    "cq": {64: 5.33, 128: 6.40, 256: 7.11, 512: 7.42},
}
CELLS = [(stream, size) for stream, sizes in DESIGN.items() for size in sizes]


@pytest.fixture(scope="module")
def rows():
    return {row.id: row for row in model.rows()}


@pytest.mark.parametrize("stream, size", CELLS)
def test_each_cell_is_reached_and_not_exceeded(rows, stream, size):
    """Each stream of the model, at each payload size, has the rate of DESIGN and of limits.py
    within half a percent, and breaks no rule."""
    row = rows[f"model/{stream}/{size}"]
    assert row.value == pytest.approx(DESIGN[stream][size], rel=0.005)
    assert row.value == pytest.approx(row.limit, rel=0.005)
    assert row.violations == 0


def test_every_cell_has_a_row(rows):
    """The ideal model of the hard block gives exactly one result row for each rate in the table
    DESIGN. The rows can be printed as a table."""
    assert set(rows) == {f"model/{stream}/{size}" for stream, size in CELLS}
    assert "model/rc_straddle/512" in table(list(rows.values()))


def test_a_rate_does_not_depend_on_how_long_it_is_measured(rows):
    """A measurement of twice the length gives the same rate within 0.1 %: the buffers have settled
    before it begins."""
    longer = build.rates(200_000)
    for (stream, size), row in zip(CELLS, rows.values()):
        assert longer[stream][str(size)]["gb_per_s"] == pytest.approx(row.value, rel=0.001)


def test_a_wrong_argument_is_refused():
    """The program of the ideal model, called with a wrong argument, prints its usage and ends with
    status 2."""
    done = subprocess.run([build.build(), "none"], capture_output=True, text=True)
    assert done.returncode == 2 and "usage" in done.stderr
