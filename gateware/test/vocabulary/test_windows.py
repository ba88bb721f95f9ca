# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of vocabulary/windows.py, the default map of BAR0 and BAR2 to the card's targets."""

import random

import pytest

from gateware import numbers
from gateware.mmio.axi import user_axi
from gateware.vocabulary.windows import BLOCK, BUS, check_compat, default_windows, gaps
from tools.testing.seeds import each_seed

SIZES = {0: numbers.BAR0_SIZE, 2: numbers.BAR2_SIZE}
PAGE = 4096


@pytest.mark.parametrize(
    "msix, compat, virtio",
    [(False, None, False), (True, None, False), (True, None, True), (False, "seed000", False)],
)
@pytest.mark.parametrize("axi", [None, user_axi()])
def test_windows_lie_in_their_bars_and_apart(axi, msix, compat, virtio):
    """Each window of the map of BAR0 and BAR2 is whole pages inside its BAR, and no two windows of
    a BAR overlap.
    """
    windows = default_windows(axi, msix, compat, virtio)
    for window in windows:
        assert window.base % PAGE == window.size % PAGE == 0
        assert window.base + window.size <= SIZES[window.bar]
    for bar in SIZES:
        places = sorted((w.base, w.base + w.size) for w in windows if w.bar == bar)
        assert all(end <= start for (_, end), (start, _) in zip(places, places[1:]))


def test_both_bars_show_the_same_block_memories():
    """BAR0 and BAR2 show the same block memories; in BAR2 they are at 0x0000 and 0x4000."""
    seen = {(w.bar, w.base, w.target_base) for w in default_windows() if w.target == BLOCK}
    assert seen == {
        (0, 0x10000, 0),
        (0, 0x14000, numbers.MEMORY_SIZE),
        (2, 0x00000, 0),
        (2, 0x04000, numbers.MEMORY_SIZE),
    }


# Registers of parts with which a card cannot have compat, since they have no room there.
APART = {"sensors", "module0", "module1", "management", "capture_net"}


def test_compat_seed000_has_them_at_the_start_of_bar0():
    """With `compat="seed000"` the block memories are at the start of BAR0.

    The registers are then at their bus addresses, 0x10000 and above.
    """
    windows = default_windows(compat="seed000")
    seen = {(w.base, w.target_base) for w in windows if (w.bar, w.target) == (0, BLOCK)}
    assert seen == {(0x0000, 0), (0x4000, numbers.MEMORY_SIZE)}
    pages = {w.base + n for w in windows if w.target == BUS for n in range(0, w.size, 0x800)}
    assert all(w.base == w.target_base for w in windows if w.target == BUS)
    kept = {n for name, n in numbers.CSR_LOCATIONS.items() if name not in APART}
    assert {0x10000 + 0x800 * page for page in kept} <= pages


@pytest.mark.parametrize(
    "compat, endpoint, msix, rule",
    [
        ("seed001", "lanebox", False, "choose one of seed000"),
        ("seed000", "litepcie", False, "needs the bridge"),
        ("seed000", "lanebox", True, "choose one of the two"),
    ],
)
def test_a_card_that_cannot_be_is_refused(compat, endpoint, msix, rule):
    """check_compat() refuses a --compat that is unknown, or that the other options exclude, and
    says which to choose.
    """
    with pytest.raises(ValueError, match=rule):
        check_compat(compat, endpoint, msix)


def test_the_card_has_512_kib_of_memory_at_least():
    """The card memory is one window in BAR2, and has at least 512 KiB."""
    (memory,) = (w for w in default_windows() if w.target == "card_memory")
    assert memory.bar == 2 and memory.size >= 512 * 1024


@each_seed(20)
def test_gaps_and_windows_cover_the_bar_exactly(seed):
    """Each page of a BAR is in exactly one window or gap, for any choice of windows."""
    rng = random.Random(seed)
    pages = 32
    taken = rng.sample(range(pages), rng.randrange(pages))
    free = gaps(pages * PAGE, [(0, page * PAGE, PAGE) for page in taken])
    covered = [base // PAGE + n for _, base, size in free for n in range(size // PAGE)]
    assert sorted(covered + taken) == list(range(pages))
