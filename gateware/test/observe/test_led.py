# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of observe/led.py, which drives the board's LEDs."""

import pytest
from migen import Signal

from gateware.numbers import HEARTBEAT_BIT
from gateware.observe.led import Leds
from tools.testing.stream_model import simulate


@pytest.mark.parametrize(
    "time, heartbeat",
    [
        (0, 0),
        (2**HEARTBEAT_BIT - 1, 0),
        (2**HEARTBEAT_BIT, 1),
        (2 ** (HEARTBEAT_BIT + 1), 0),
    ],
)
@pytest.mark.parametrize("link_up", [0, 1])
def test_led_0_blinks_and_led_1_shows_the_link(time, heartbeat, link_up):
    """LED 0 blinks with a bit of device time, LED 1 shows the link's state, and LEDs 2 and 3 are
    dark.
    """
    pads, time_signal, link = Signal(4), Signal(64, reset=time), Signal(reset=link_up)
    dut = Leds(pads, time_signal, link)

    def check():
        yield
        assert (yield pads) == heartbeat | link_up << 1

    simulate(dut, [check()])


def test_two_leds_are_enough():
    """The block Leds can be built for a board with only two LEDs."""
    Leds(Signal(2), Signal(64), Signal()).get_fragment()
