# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the pin recorder: pin_recorder.sv.in with its ports and connections filled in.

The recorder has a port for each pin of gateware/phy/pins.py that its body or RECORDED names, with
the pin's name and width. CONFIG says where the recorded cfg_* outputs are in a CFG line of
pins.txt, for observation.py."""

from __future__ import annotations

import re
from itertools import accumulate
from pathlib import Path

from gateware.phy.pins import PINS

BODY = Path(__file__).with_name("pin_recorder.sv.in")

# Pins of which only the lowest bit is recorded. One of the models has tready of RQ and CC with one
# bit, the other with four equal bits. The upper bits of cfg_rcb_status belong to functions that the
# card does not have.
LOWEST_BIT = ("s_axis_rq_tready", "s_axis_cc_tready", "cfg_rcb_status")

# The cfg_* outputs that are recorded, from the lowest bit of a CFG line on: field and pin.
RECORDED = {
    "max_payload": "cfg_max_payload",
    "max_read_req": "cfg_max_read_req",
    "function_status": "cfg_function_status",
    "rcb_status": "cfg_rcb_status",
    "msi_enable": "cfg_interrupt_msi_enable",
    "negotiated_width": "cfg_negotiated_width",
    "current_speed": "cfg_current_speed",
}


def width(pin: str) -> int:
    """Return how many bits of a pin are recorded."""
    return 1 if pin in LOWEST_BIT else PINS[pin].width


_LOWEST = accumulate(map(width, RECORDED.values()), initial=0)

# The fields of a CFG line as (name, lowest bit, width in bits).
CONFIG = tuple((name, low, width(pin)) for (name, pin), low in zip(RECORDED.items(), _LOWEST))


def verilog() -> str:
    """Return the recorder's module and the line that binds it into the hard block's module."""
    text = BODY.read_text()
    named = {*re.findall(r"\w+", text), *RECORDED.values()}
    pins = [name for name in PINS if name in named]
    places = {
        "ports": [f"    input [{width(pin) - 1}:0] {pin}" for pin in pins],
        "config": [f"        {pin}" for pin in reversed(RECORDED.values())],
        "connections": [f"    .{pin}({pin})" for pin in pins],
    }
    for place, lines in places.items():
        if text.count(f"//: {place}\n") != 1:
            raise ValueError(f"{BODY} must have one line `//: {place}`")
        text = text.replace(f"//: {place}", ",\n".join(lines))
    return text
