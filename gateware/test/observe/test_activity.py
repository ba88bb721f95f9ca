# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""activity.py"""

import itertools

import pytest
from migen import Signal
from stream_model import simulate

from lanebox.activity import Activity


@pytest.mark.parametrize("values", list(itertools.product([0, 1], repeat=3)))
def test_busy_while_any_source_is(values):
    """`busy` is high in each cycle in which any source is high, and in no other."""
    sources = [Signal(reset=value) for value in values]
    dut     = Activity(*sources)

    def check():
        yield
        assert (yield dut.busy) == any(values)

    simulate(dut, [check()])
