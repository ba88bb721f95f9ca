# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The card's stamp registers, which have the times of a doorbell and of its interrupt, agree with
the TLP log of the hard block's pins."""

import random

import pytest

from sim.test.card.stamped import (
    TICK_NS,
    doorbells,
    open_loopback,
    pairs,
    stamps,
    transfer,
    zero_of,
)
from tools.testing.seeds import SHIFT

SIZES = (64, 128, 256, 512, 1024, 2048, 4096)


@pytest.mark.parametrize("stall", [0, 40])
@pytest.mark.parametrize("endpoint", ["lanebox", "litepcie"])
def test_the_stamps_are_those_of_the_pins(endpoint, stall, start_board, start_stock):
    """The interrupt's stamp is exactly the cycle in which the hard block answers the interrupt's
    request.

    The doorbell's stamp is one cycle after the doorbell's write has reached its register. Both hold
    for every size of transfer and every latency.
    """
    print(f"seed {SHIFT}")
    rng = random.Random(SHIFT)
    start = {"lanebox": start_board, "litepcie": start_stock}[endpoint]
    found = []
    with start("--stall", stall, "--rules", "warn", violations=None, log=True) as board:
        card = board.card()
        open_loopback(card)
        for size in rng.sample(SIZES, len(SIZES)):
            board.set("read-latency", rng.randrange(300, 3000))
            transfer(card, size)
            assert card.wait_interrupt() == 1
            found.append(stamps(card))
        counters = card.counters()
        card.stop()
    log = board.tlps()
    wanted = pairs(doorbells(log, card, endpoint), [t.ns for t in log.on("RQ", "MSI")])
    # The TLP log has the time at which the card requests an MSI. The hard block answers the request
    # one cycle (4 ns) later.
    zero = found[0].interrupt - wanted[0].interrupt - TICK_NS
    # Lanebox's counters count at the hard block's pins, as the TLP log does. So the difference of
    # the two clocks is taken from them.
    if endpoint == "lanebox":
        zero = zero_of(counters, log)
    found = [pair.since(zero) for pair in found]
    assert [p.interrupt for p in found] == [p.interrupt + TICK_NS for p in wanted]
    assert [p.doorbell for p in found] == [p.doorbell + TICK_NS for p in wanted]
