# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Adds the sensors to the SoC, and for each module's cage a block that controls the module.

While the FPGA is at its limit of temperature, all modules are held in reset and in low power. This
needs neither a host nor a processor."""

from gateware.card.module import Module
from gateware.card.sensors import Sensors

CAGES = ("a", "b")

def check_upkeep(card, compat):
    """Raises ValueError if card services are asked for in a layout of BAR0 that has no room for
    their registers."""
    if card and compat:
        raise ValueError(f"--card: the layout {compat!r} of BAR0 shows register pages 0 to 23 "
            "only, and the card services have pages above; leave one of the two out")

def add_upkeep(soc, cages):
    """Adds sensors, and the cages that `cages` names, to the SoC. The target connects the cages'
    pins, `soc.cages[name]`, to the board."""
    soc.sensors = Sensors(soc.sys_clk_freq)
    soc.cages   = {}
    for name in cages:
        module = Module(soc.sys_clk_freq)
        soc.add_module(name=f"module{CAGES.index(name)}", module=module)
        soc.cages[name] = module.pins
        soc.busy = soc.busy | module.busy
        # A module is the largest source of heat beside the FPGA, and may have no host to watch it.
        soc.comb += module.quiet.eq(soc.sensors.over_temperature)
