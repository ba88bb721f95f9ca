# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of lanebox_host/_seconds.py: times in seconds become the whole numbers of the library."""

import math

import pytest


@pytest.fixture
def seconds(host):
    from lanebox_host import _seconds

    return _seconds


@pytest.mark.parametrize(
    "timeout, wanted",
    [
        (0, 0),
        (1e-9, 1),
        (0.25, 250),
        (10, 10000),
        (-1, -1),
        (-0.001, -1),
        (math.inf, -1),
        (1e9, (1 << 31) - 1),
    ],
)
def test_a_timeout_is_never_shortened_to_none(seconds, timeout, wanted):
    """milliseconds() rounds a timeout up, so that only 0 becomes 0, with which the library does not
    wait. A negative timeout or infinity becomes -1, with which it waits for ever. A timeout that is
    too long for a C int becomes the largest int."""
    assert seconds.milliseconds(timeout) == wanted


def test_a_timeout_that_is_no_number_is_refused(seconds):
    """NaN as a timeout raises ValueError with a sentence."""
    with pytest.raises(ValueError, match="timeout: nan is no time in seconds"):
        seconds.milliseconds(math.nan)


@pytest.mark.parametrize(
    "time, wanted",
    [(0, 0), (1e-7, 1), (1e-12, 1), (9e-6, 9), (0.0003, 300), (1.5e-6, 2), (1, 10**6)],
)
def test_an_option_above_0_stays_above_0(seconds, time, wanted):
    """whole() rounds an option in seconds up to whole microseconds, so that only 0 becomes 0. A
    time like 0.0003, whose product with 10**6 may be a little too large in floating point, is not
    rounded up to the next microsecond."""
    assert seconds.whole("poll", time, 10**6) == wanted


@pytest.mark.parametrize("time", [-1, -1e-9, math.inf, math.nan])
def test_an_option_that_is_no_time_is_refused(seconds, time):
    """A negative or infinite time, and NaN, raise ValueError with the option and the value."""
    with pytest.raises(ValueError, match=f"flush: {time} is no time in seconds from 0 on"):
        seconds.whole("flush", time, 10**6)
