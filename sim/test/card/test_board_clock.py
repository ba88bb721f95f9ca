# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The capture block's clock on a whole card: the times in a recording follow what software has
written to the clock's registers."""

import pytest

from gateware import numbers
from gateware.capture.clock import FRACTION_BITS, RATE_BITS
from sim.test.board.board_client import wait_until
from sim.test.card.test_board_capture import (  # noqa: F401
    Generated,
    Recorder,
    packets,
    start_capture,
)

ONE = 1 << FRACTION_BITS  # A ns, in the units of the rate.
# An offset beyond 32 bits, whose sum with the device time of this test crosses a multiple of 2^32.
OFFSET = (1_700_000_000_000_000_000 >> 32 << 32) - 20_000


def clock_time(card):
    """Return the time of the capture block's clock, in ns."""
    low = card.read("capture_clock_low")
    return card.read("capture_clock_high") << 32 | low


@pytest.mark.parametrize("rate", [0, 0x4321_0000, -0x1234_5678])
def test_frames_have_the_times_of_a_clock_that_was_set(start_capture, tmp_path, rate):  # noqa: F811
    """With an offset and a rate in the clock's registers, the frames' times are exactly those of
    the clock: the offset counts once, and each cycle adds its length and the rate."""
    frames = Generated(64, 3000, count=1000)
    with start_capture() as board:
        card = board.card()
        recorder = Recorder(card, segments=16)
        recorder.allow(recorder.size)
        before = clock_time(card)
        assert before < 2**32
        card.write64("capture_clock_offset", OFFSET)
        card.write("capture_clock_rate", rate % (1 << RATE_BITS))
        start = clock_time(card)
        recorder.start(frames)
        wait_until(lambda: recorder.made(frames.count), "all frames")
        recorder.stop()
        recorder.end()
        end = clock_time(card)
        found = packets(recorder, tmp_path)
        *_, line = recorder.line()
        device_ns = card.device_time() * numbers.TICK_NS
    times = [time for time, *_ in found]
    assert OFFSET + before < start < times[0] and times[-1] <= line < end
    assert abs(end - OFFSET - device_ns) <= device_ns // 8
    # The clock's fraction at the first frame is not known. One value of it must fit all times.
    step = numbers.TICK_NS * ONE + rate
    sums = [time * ONE - start * step for time, start in zip(times, frames.starts())]
    assert max(sums) - min(sums) < ONE
    if not rate:
        assert (times[0] - OFFSET) % numbers.TICK_NS == 0
