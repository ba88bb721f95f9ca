# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Writes the hard block as a Verilog module with the ports of pins.py. The module is called
pcie_usp, as in LitePCIe."""

import re

from gateware.phy.pins import GROUPS, PINS

MODULE   = "pcie_usp"
PLACE    = "//: ports"
ASSIGNED = re.compile(r"^ *(\w+) *<?= ", re.MULTILINE)

def ports(registers=(), widths=None):
    """Returns the hard block's list of ports in Verilog, without the brackets around it.

    `registers` are the outputs that the module's body assigns in an always or initial block.
    `widths` has the widths, in bits, of pins that are narrower than on the hard block, by name."""
    widths  = widths or {}
    unknown = {*registers, *widths} - PINS.keys()
    if unknown:
        raise ValueError(f"the hard block has no pin {', '.join(sorted(unknown))}")
    lines = []
    for title, pins in GROUPS.items():
        lines.append(f"    // {title}")
        for pin in pins:
            width = widths.get(pin.name, pin.width)
            kind  = "output" if pin.output else "input"
            kind += " reg" if pin.name in registers else ""
            size  = f" [{width - 1}:0]" if width > 1 else ""
            lines.append(f"    {kind}{size} {pin.name},")
    lines[-1] = lines[-1].rstrip(",")
    return "\n".join(lines)

def module():
    """Returns the hard block's Verilog module without a body, for tools that take it as a black
    box."""
    return f"module {MODULE} (\n{ports()}\n);\nendmodule\n"

def fill(text, widths=None):
    """Returns `text`, a Verilog module with its body, with the hard block's ports in place of its
    line PLACE.

    Outputs that the body assigns in an always or initial block become registers."""
    if text.count(f"{PLACE}\n") != 1:
        raise ValueError(f"the module must have one line `{PLACE}`")
    assigned = {name for name in ASSIGNED.findall(text) if name in PINS}
    return text.replace(PLACE, ports(assigned, widths))
