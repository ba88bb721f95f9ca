# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of observe/activity.py, which says whether the card has work to do."""

import itertools

import pytest
from migen import Signal

from gateware.observe.activity import Activity
from tools.testing.stream_model import simulate


@pytest.mark.parametrize("values", list(itertools.product([0, 1], repeat=3)))
def test_busy_while_any_source_is(values):
    """Activity's `busy` is high in each cycle in which any of its sources is high, and in
    no other.
    """
    sources = [Signal(reset=value) for value in values]
    dut = Activity(*sources)

    def check():
        yield
        assert (yield dut.busy) == any(values)

    simulate(dut, [check()])
