# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Power lost at random moments of an update: every card starts with the old, new or golden image.

An update runs once. At random moments the flash is copied, loses its power there, and is started.
"""

import random

import pytest

from bringup.test.bitstream_samples import image
from gateware.test.card.card_bench import APPLICATION, CardBench
from tools.testing.seeds import each_seed

OLD, NEW, GOLDEN = 0x01D, 0x4E4, 0x601D


def starts(seed, cuts):
    """Update a card whose flash has an old image, with `cuts` power losses. Return {user ID of an
    image: how often it started}; None stands for no image.
    """
    rng, bench = random.Random(seed), CardBench(divisor=2000, seed=seed + 1)
    bench.chip.load(0, image(GOLDEN, warm_boot=APPLICATION))
    bench.chip.load(APPLICATION, image(OLD, payload=[rng.getrandbits(32) for _ in range(500)]))
    new = image(NEW, payload=[rng.getrandbits(32) for _ in range(500)])
    # The moments are spread over 150,000 cycles, about the length of this update.
    chance, found = cuts * 50 / 150_000, {}

    def cut(count):
        for _ in range(count):
            chip = bench.copy()
            chip.lose_power(bench.nanoseconds + rng.randrange(200))
            name = chip.boot().user_id if chip.boot().address is not None else None
            found[name] = found.get(name, 0) + 1

    cut(1)
    bench.update(new, each=lambda: cut(int(chance) + (rng.random() < chance % 1)))
    cut(1)
    assert bench.chip.broken == []
    return found


def check(found, cuts):
    assert set(found) <= {OLD, NEW, GOLDEN}, f"a card is bricked: {found}"
    assert all(found.get(name, 0) > 0 for name in (OLD, NEW, GOLDEN)), found
    assert sum(found.values()) >= cuts // 2, found


@each_seed(1)
def test_power_lost_in_an_update_leaves_a_card_that_starts(seed):
    """After a power loss at any of 1000 moments the old, the new or the golden image starts."""
    check(starts(seed, 1000), 1000)


@pytest.mark.soak
@each_seed(10)
def test_ten_thousand_power_losses_leave_a_card_that_starts(seed):
    """After a power loss at any of 10,000 moments of 10 updates some image starts."""
    check(starts(seed, 1000), 1000)


def test_a_damaged_golden_image_is_seen():
    """The model tells a bricked card from one that starts, so the tests of this file can fail."""
    bench = CardBench()
    bench.chip.load(0, image(GOLDEN, warm_boot=APPLICATION))
    assert bench.chip.boot().user_id == GOLDEN
    bench.chip.load(100, bytes(4))
    assert bench.chip.boot().address is None
