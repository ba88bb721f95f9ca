# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The host's processor reads the card by requests that a root complex may send."""

import random

import pytest

from sim.test.link.root_probe import run
from tools.testing.seeds import each_seed

BAR0, PAGE = 0xE000_0000, 4096


def requests(offset, size):
    """Return (address, dwords) of each request by which the host's processor reads `size` bytes of
    BAR0 from `offset` on."""
    return [
        (at, dwords) for _, _, at, dwords, *_ in run(f"host {offset:x} {size}", "run 9000").requests
    ]


@pytest.mark.parametrize("offset, size", [(PAGE - 4, 8), (PAGE - 8, 16), (PAGE - 1, 2)])
def test_a_read_is_cut_at_4_kib(offset, size):
    """A read over a boundary of 4 KiB becomes two requests, which meet at the boundary (base
    specification 2.2.7)."""
    first = BAR0 + offset // 4 * 4
    behind = -(-(offset + size - PAGE) // 4)
    assert requests(offset, size) == [
        (first, (BAR0 + PAGE - first) // 4),
        (BAR0 + PAGE, behind),
    ]


@each_seed(3)
def test_any_read_asks_for_each_dword_once(seed):
    """The requests of a read by the host's processor cover its dwords once and in order, and none
    crosses 4 KiB."""
    rng = random.Random(seed)
    for _ in range(20):
        offset, size = rng.randrange(3 * PAGE), rng.randint(1, PAGE)
        found = requests(offset, size)
        at = BAR0 + offset // 4 * 4
        for address, dwords in found:
            assert address == at and dwords > 0, (offset, size)
            assert address // PAGE == (address + 4 * dwords - 1) // PAGE, (offset, size)
            at += 4 * dwords
        assert at == BAR0 + -(-(offset + size) // 4) * 4, (offset, size)
