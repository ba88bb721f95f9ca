# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Make LiteX's platform and the pads of the vendor's PCIe core from a board's table of pins."""

# Lanes of the PCIe core's pads. A board may have fewer; its link trains with the lanes that it has.
CORE_LANES = 8

def make_platform(board, lanes, cages=()):
    """Return LiteX's platform with the pins of `board` that a build with `lanes` PCIe lanes and
    these cages uses.

    If a design requests another net of the board, an error says what is known about that net."""
    from litex.build.generic_platform import ConstraintError, IOStandard, Misc, Pins, Subsignal
    from litex.build.xilinx import XilinxUSPPlatform

    def constraint(pins, standard):
        level, *properties = standard.split() or [""]
        return [Pins(" ".join(pins)), *([IOStandard(level)] if level else []),
            *map(Misc, properties)]

    resources = [(port, constraint(pins, standard))
        for port, pins, standard in board.resources(lanes, cages)]
    link = [Subsignal(port.partition(".")[2], *found) for port, found in resources
        if port.startswith("pcie_")]
    io   = [(f"pcie_x{lanes}", 0, *link)]
    io  += [(f"qsfp_{cage}", 0, *[Subsignal(port.partition(".")[2], *found)
        for port, found in resources if port.startswith(f"qsfp_{cage}.")]) for cage in cages]
    io  += [("user_led", n, *found) for n, (_, found) in enumerate(
        entry for entry in resources if "." not in entry[0])]

    class Platform(XilinxUSPPlatform):
        """LiteX's platform, whose error for a net that it cannot give says what is known of it."""
        def request(self, name, *arguments, **options):
            try:
                return XilinxUSPPlatform.request(self, name, *arguments, **options)
            except ConstraintError:
                if name in [net.name for net in board.nets]:
                    # board.net() raises an error that says why the net cannot be used.
                    board.net(name)
                raise

    return Platform(board.device, io, toolchain="vivado")

def connect_cage(platform, name, pins):
    """Return the Migen statements and the specials that join the signals `pins` of cage `name`
    (gateware/card/module.py) to the board's pins."""
    from litex.build.io import Tristate

    pads = platform.request(f"qsfp_{name}")
    return [
        pads.modsel_n.eq(pins.modsel_n),
        pads.reset_n.eq(pins.reset_n),
        pads.lpmode.eq(pins.lpmode),
        pins.modprs_n.eq(pads.modprs_n),
        pins.int_n.eq(pads.int_n),
    ], [
        Tristate(pads.scl, o=0, oe=pins.scl_low, i=pins.scl),
        Tristate(pads.sda, o=0, oe=pins.sda_low, i=pins.sda),
    ]

class CorePads:
    """The pads of the vendor's PCIe core. They have eight lanes, even if the board has fewer."""
    def __init__(self, pins):
        from migen import Signal
        self.rst_n, self.clk_p, self.clk_n = pins.rst_n, pins.clk_p, pins.clk_n
        for name in ("rx_p", "rx_n", "tx_p", "tx_n"):
            setattr(self, name, Signal(CORE_LANES, name=f"core_{name}"))

    def connect(self, pins):
        """Return the Migen statements that join these eight lanes to the board's pins, which may be
        fewer."""
        return [
            self.rx_p.eq(pins.rx_p), self.rx_n.eq(pins.rx_n),
            pins.tx_p.eq(self.tx_p), pins.tx_n.eq(self.tx_n),
        ]
