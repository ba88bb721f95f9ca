# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/capture/cost.py: what a captured frame costs in time and in bytes of the
ring."""

import pytest

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.rows.capture import cost
from sim.rows.measure import Conditions


@pytest.fixture(scope="module")
def rows():
    """Measure the rows of what a captured frame costs (sim/rows/capture/cost.py) once. Returns {id:
    row}."""
    built = artefacts.build(DEFAULT, capture=True)
    found = cost.rows(built.board, built.gateware / "csr.json", Conditions())
    return {entry.id: entry for entry in found}


def test_a_frame_is_told_of_within_its_time(rows):
    """The row `capture/latency/64` is at most 400 ns in the median and 600 ns at the 99th
    percentile. It is the time in an idle card from the last beat of a frame of 64 B into the
    capture block to the last beat on RQ of the status line that counts the frame."""
    row = rows["capture/latency/64"]
    print(row.value, row.p99)
    # The card cannot be faster than its stages: 25 cycles to the endpoint's port (CaptureTest).
    assert 100 <= row.value <= 400 and row.p99 <= 600
    assert row.violations == 0


def test_a_record_of_64_bytes_takes_three_cycles(rows):
    """By the row `capture/cycles` the block RecordBuilder takes 3.01 cycles or less to build the
    record of a frame of 64 B."""
    row = rows["capture/cycles/64"]
    assert 3 <= row.value <= 3.01 and row.violations == 0


@pytest.mark.parametrize("size, bytes_each", [(64, 1.60), (1518, 1.025)])
def test_the_ring_needs_few_bytes_beside_the_frames(rows, size, bytes_each):
    """The records alone take 1.60 bytes of the ring for each byte of a frame of 64 B without its
    FCS, and 1.025 at 1518 B. With seals and fillers the ring takes at most 0.2 % more."""
    row = rows[f"capture/overhead/{size}"]
    assert round(row.limit, 3) == pytest.approx(bytes_each, abs=0.0005)
    assert 0.998 <= row.ratio <= 1 and row.violations == 0
