# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Make the pin probe's design for a board with package FFVB676: its pins and constraints.

This module needs only Python's standard library until a design is written.
"""

from bringup.ffvb676 import BANKS, HIGH_DENSITY, QUADS

# The probe has two images. In image 0 all pins have pull-downs, in image 1 they have pull-ups.
PULLS = ("down", "up")

# I/O standard and weakest drive in mA, for high density banks (DENSE) and high performance banks
# (FAST) (UG571). High performance banks never have more than 1.8 V.
DENSE = ("LVCMOS33", 4)
FAST  = ("LVCMOS18", 2)

# Clock periods in nanoseconds for the constraints. A board's reference clock is not faster than 3.1
# ns, and the configuration clock is not faster than 50 MHz + 15 %.
REFCLK_PERIOD  = 3.1
CFGMCLK_PERIOD = 17.3
TCK_PERIOD     = 33.0

def candidates(board):
    """Return (pin, bank) of each ordinary pin of the package that the board's table does
    not name.
    """
    known = {pin for net in board.nets for pin in net.pins.split()}
    return [(pin, bank) for bank, pins in BANKS.items() for pin in "".join(pins).split()
        if pin not in known]

def refclks():
    """Return (name, p pin, n pin) of each reference clock of the transceivers. A name is
    quad.number, such as 225.0.
    """
    return [(f"{quad}.{n}", p, pins["clk_n"].split()[n]) for quad, pins in QUADS.items()
        for n, p in enumerate(pins["clk_p"].split())]

def constraints(board, pull):
    """Return the constraints of the image with this pull, as text.

    Each pin gets its pull and a weak, slow driver. The clocks are asynchronous to each other.
    """
    lines = []
    for n, (pin, bank) in enumerate(candidates(board)):
        standard, drive = DENSE if bank in HIGH_DENSITY else FAST
        lines += [f"set_property {name} {value} [get_ports {{pins[{n}]}}]" for name, value in (
            ("PACKAGE_PIN", pin), ("IOSTANDARD", standard), ("DRIVE", drive), ("SLEW", "SLOW"),
            ("PULLTYPE", f"PULL{PULLS[pull].upper()}"))]
    clocks = []
    for n, (_, p, negative) in enumerate(refclks()):
        lines += [
            f"set_property PACKAGE_PIN {p} [get_ports {{refclks_p[{n}]}}]",
            f"set_property PACKAGE_PIN {negative} [get_ports {{refclks_n[{n}]}}]",
            f"create_clock -name refclk{n} -period {REFCLK_PERIOD:.3f} "
            f"[get_ports {{refclks_p[{n}]}}]",
        ]
        clocks.append(f"refclk{n}")
    for name, period, pin in (("tck", TCK_PERIOD, "BSCANE2/TCK"),
            ("cfgmclk", CFGMCLK_PERIOD, "STARTUPE3/CFGMCLK")):
        lines.append(f"create_clock -name {name} -period {period:.3f} [get_pins {pin}]")
        clocks.append(name)
    groups = " ".join(f"-group {name}" for name in clocks)
    return "\n".join([*lines, f"set_clock_groups -asynchronous {groups}"]) + "\n"

def write(board, pull, folder):
    """Write Verilog and constraints of the probe's image `pull` (0: pull-downs, 1: pull-ups) to
    `folder`.
    """
    from litex.build.generic_platform import Pins, Subsignal

    from bringup.jtag.design import make_platform, write_design
    from bringup.jtag.pin_probe import PinProbeDesign

    pins  = [pin for pin, _ in candidates(board)]
    pairs = refclks()
    platform = make_platform(board.device, [
        ("pins", 0, Pins(" ".join(pins))),
        ("refclks", 0, Subsignal("p", Pins(" ".join(p for _, p, _ in pairs))),
            Subsignal("n", Pins(" ".join(n for _, _, n in pairs)))),
    ])
    design = PinProbeDesign(platform.request("pins"), pins, platform.request("refclks"), pull)
    write_design(design, folder.name, platform, constraints(board, pull), folder)
