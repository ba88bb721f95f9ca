# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Hosts whose completion headers and data share one pool of space: what the model of such a host,
gateware that is built for it, and limits.py do."""

import pytest

from sim import artefacts
from sim.errors import SimError
from sim.rows import limits, measure, streams
from sim.rows.measure import Conditions
from sim.rows.streams import Job
from sim.test.board.board_builds import build_executable, build_gateware

AT = {"mps": 512, "completion_size": 512, "read_latency_ns": 5000}
SHORT = 1 << 15  # cycles of device time over which a rate is measured


def run(board, registers, rcb):
    """Measure h2c with a read latency of 5 us, on a board whose completion headers and data share
    one pool."""
    at = Conditions(rcb=rcb, **AT)
    return streams.measure(board, registers, at, Job(("h2c",), window=SHORT), "--completion-pool")


@pytest.mark.soak
@pytest.mark.parametrize("rcb", [64, 128])
def test_a_card_built_for_a_pool_fills_it_and_no_more(rcb):
    """A card that was built for a pool never has more reads in flight than fit the pool. It reaches
    97 % or more of the limit that the pool sets."""
    built = artefacts.build("lanebox", completion_pool=True)
    report, at, violations = run(built.board, built.gateware / "csr.json", rcb)
    assert violations == 0
    rate = measure.h2c(report, at, violations).value
    limit = limits.h2c(512, 512, 256, 512, 5000, straddle=True, rcb=rcb, pool=True)
    assert limit.binds == "reads in flight"
    assert 0.97 <= rate / limit.value <= 1.0


def test_a_card_that_was_not_built_for_a_pool_breaks_the_rule_of_one():
    """A card that was not built for a pool breaks the pool's rule. At RCB 128 the data of its reads
    takes all 2048 units, so that no unit is left for headers."""
    with pytest.raises(SimError, match="2048 headers and data credits together"):
        run(build_executable(), build_gateware() / "csr.json", rcb=128)


@pytest.mark.parametrize("rcb, reads", [(64, 2048 / 40), (128, 2048 / 36)])
def test_a_read_takes_units_for_its_data_and_its_headers(rcb, reads):
    """By limits.py a read of 512 bytes takes 32 units of the pool for its data, and one more unit
    for each completion header."""
    limit = limits.h2c(512, 512, 256, 512, 5000, rcb=rcb, pool=True)
    assert limit.value == pytest.approx(reads * 512 / 5000)
    small = limits.small_h2c(512, 512, 512, 512, 5000, rcb=rcb, pool=True)
    assert small.value == pytest.approx(reads * 512 / 5000)
