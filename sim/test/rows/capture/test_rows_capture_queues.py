# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/capture/queues.py on the simulated card with four capture queues."""

import pytest

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.rows.capture import queues
from sim.rows.measure import Conditions


@pytest.fixture(scope="module")
def rows():
    """Measure the rows of a capture with several queues once. Returns {id: row}."""
    built = artefacts.build(DEFAULT, capture=queues.QUEUES)
    found = queues.rows(built.board, built.gateware / "csr.json", Conditions())
    rows = {entry.id: entry for entry in found}
    for name, entry in rows.items():
        print(f"{name}: {entry.value} {entry.unit}, lost {entry.conditions['lost']}")
        assert entry.violations == 0, name
    return rows


def test_queues_share_a_saturated_host_within_2_percent(rows):
    """While frames come faster than the host takes them, no queue delivers 2 % less than another
    one."""
    assert 0.98 <= rows["capture/fair/4q/1518"].value <= 1


def test_a_stopped_queue_costs_the_others_nothing(rows):
    """At the line rate of four ports the other queues lose no frame while one has no room."""
    assert rows["capture/stopped/4q/69"].value == 0
