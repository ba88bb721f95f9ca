# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Seed 002's table with 50,000 messages of each size: `make bench VIRTIO=1` has a thousand."""

from dataclasses import asdict

import pytest

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.report import virtio as report
from sim.rows.measure import Conditions
from sim.rows.virtio import latency
from tools.testing.seeds import SHIFT

MESSAGES = 50_000


@pytest.mark.soak
@pytest.mark.parametrize("name", latency.DRIVERS)
def test_fifty_thousand_messages_of_each_size_come_back(name):
    """50,000 messages of each size come back from the device `name`, the console or the net device,
    one at a time, and no rule is broken."""
    built = artefacts.build(DEFAULT, virtio=True)
    at = Conditions(seed=SHIFT + 1)
    rows = list(latency.by_size(built.board, built.gateware / "csr.json", at, MESSAGES, name))
    print(report.text([asdict(entry) for entry in rows]))
    assert len(rows) == len(latency.SIZES) and not any(entry.violations for entry in rows)
