# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of endpoint/departure.py, which says whether a write is still on its way out."""

import random

from migen import run_simulation

from gateware.endpoint.departure import Departure
from tools.testing.seeds import each_seed

CYCLES = 3000


@each_seed(4)
def test_a_write_leaves_with_the_second_pulse_behind_it(seed):
    """A Departure says that a write leaves from the cycle after the write until the cycle after the
    second pulse behind it. A pulse in the write's own cycle does not count."""
    rng = random.Random(seed)
    taken, sent = (rng.choice([0.01, 0.1, 0.5]) for _ in range(2))
    dut = Departure()
    print(f"seed {seed}, taken {taken}, sent {sent}")

    def main():
        left = 0
        for cycle in range(CYCLES):
            assert (yield dut.leaving) == (left > 0), f"cycle {cycle}"
            now = rng.random() < taken, rng.random() < sent
            yield dut.taken.eq(now[0])
            yield dut.sent.eq(now[1])
            yield
            left = 2 if now[0] else max(0, left - now[1])
            # The inputs are seen at the next edge, so the output follows a cycle later.
            yield dut.taken.eq(0)
            yield dut.sent.eq(0)
            yield
        assert left or not (yield dut.leaving)

    run_simulation(dut, main())
