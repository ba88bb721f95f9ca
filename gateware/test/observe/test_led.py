# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""led.py"""

import pytest
from migen import Signal
from stream_model import simulate

from lanebox.layouts import HEARTBEAT_BIT
from lanebox.led import Leds


@pytest.mark.parametrize("time, heartbeat", [
    (0,                     0),
    (2**HEARTBEAT_BIT - 1,  0),
    (2**HEARTBEAT_BIT,      1),
    (2**(HEARTBEAT_BIT+1),  0),
])
@pytest.mark.parametrize("link_up", [0, 1])
def test_led_0_blinks_and_led_1_shows_the_link(time, heartbeat, link_up):
    """LED 0 is a bit of device time, LED 1 is the link's state, and the others are dark."""
    pads, time_signal, link = Signal(4), Signal(64, reset=time), Signal(reset=link_up)
    dut = Leds(pads, time_signal, link)

    def check():
        yield
        assert (yield pads) == heartbeat | link_up << 1

    simulate(dut, [check()])


def test_two_leds_are_enough():
    """A board with two LEDs can use the block."""
    Leds(Signal(2), Signal(64), Signal()).get_fragment()
