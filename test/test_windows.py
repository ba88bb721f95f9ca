# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""mmio/windows.py"""

import random

import pytest
from seeds import each_seed

from lanebox import layouts
from lanebox.mmio.axi import user_axi
from lanebox.mmio.windows import BLOCK, default_windows, gaps

SIZES = {0: layouts.BAR0_SIZE, 2: layouts.BAR2_SIZE}
PAGE  = 4096

@pytest.mark.parametrize("axi", [None, user_axi()])
def test_windows_lie_in_their_bars_and_apart(axi):
    windows = default_windows(axi)
    for window in windows:
        assert window.base % PAGE == window.size % PAGE == 0
        assert window.base + window.size <= SIZES[window.bar]
    for bar in SIZES:
        places = sorted((w.base, w.base + w.size) for w in windows if w.bar == bar)
        assert all(end <= start for (_, end), (start, _) in zip(places, places[1:]))

def test_both_bars_show_the_same_block_memories():
    """At the offsets of the hello-world that the project answers: BAR2 + 0x0000 and + 0x4000."""
    seen = {(w.bar, w.base, w.target_base) for w in default_windows() if w.target == BLOCK}
    assert seen == {
        (0, 0x10000, 0), (0, 0x14000, layouts.MEMORY_SIZE),
        (2, 0x00000, 0), (2, 0x04000, layouts.MEMORY_SIZE),
    }

def test_the_card_has_512_kib_of_memory_at_least():
    (memory,) = (w for w in default_windows() if w.target == "card_memory")
    assert memory.bar == 2 and memory.size >= 512*1024

@each_seed(20)
def test_gaps_and_windows_cover_the_bar_exactly(seed):
    rng   = random.Random(seed)
    pages = 32
    taken = rng.sample(range(pages), rng.randrange(pages))
    free  = gaps(pages*PAGE, [(0, page*PAGE, PAGE) for page in taken])
    covered = [base//PAGE + n for _, base, size in free for n in range(size//PAGE)]
    assert sorted(covered + taken) == list(range(pages))
