# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A board's pins as LiteX's platform, and as the pads of the vendor's PCIe core."""

CORE_LANES = 8 # The core is always x8. The link trains down to the lanes that have pins.

def make_platform(board, lanes):
    """Return LiteX's platform with the board's usable pins.

    A request for another net is an error that says what is known of it.
    """
    from litex.build.generic_platform import ConstraintError, IOStandard, Misc, Pins, Subsignal
    from litex.build.xilinx import XilinxUSPPlatform

    def constraint(pins, standard):
        level, *properties = standard.split() or [""]
        return [Pins(" ".join(pins)), *([IOStandard(level)] if level else []),
            *map(Misc, properties)]

    resources = [(port, constraint(pins, standard))
        for port, pins, standard in board.resources(lanes)]
    link = [Subsignal(port.partition(".")[2], *found) for port, found in resources if "." in port]
    io   = [(f"pcie_x{lanes}", 0, *link)]
    io  += [("user_led", n, *found) for n, (_, found) in enumerate(
        entry for entry in resources if "." not in entry[0])]

    class Platform(XilinxUSPPlatform):
        def request(self, name, *arguments, **options):
            try:
                return XilinxUSPPlatform.request(self, name, *arguments, **options)
            except ConstraintError:
                if name in [net.name for net in board.nets]:
                    board.net(name) # Raises an error that says why the net cannot be used.
                raise

    return Platform(board.device, io, toolchain="vivado")

class CorePads:
    """Pads for the core's eight lanes. The board may have fewer lanes."""
    def __init__(self, pins):
        from migen import Signal
        self.rst_n, self.clk_p, self.clk_n = pins.rst_n, pins.clk_p, pins.clk_n
        for name in ("rx_p", "rx_n", "tx_p", "tx_n"):
            setattr(self, name, Signal(CORE_LANES, name=f"core_{name}"))

    def connect(self, pins):
        """Returns the statements that join these pads to the board's pins, which may be fewer."""
        return [
            self.rx_p.eq(pins.rx_p), self.rx_n.eq(pins.rx_n),
            pins.tx_p.eq(self.tx_p), pins.tx_n.eq(self.tx_n),
        ]
