# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The card services in the SoC: the flash engine, the reboot, the sensors and the cages."""

from gateware.card.cpu.management import add_management
from gateware.card.flash import Flash
from gateware.card.reboot import Reboot
from gateware.card.upkeep import add_upkeep


def add_card(soc, cages, firmware=None, link=1):
    """Adds the card services to the SoC, with the cages that `cages` names; nothing if `cages` is
    None. Only the cages need pins that a board may lack. `firmware` adds the management CPU. `link`
    is high while the PCIe link is up."""
    if cages is None:
        return
    soc.flash  = Flash()
    soc.reboot = Reboot()
    busy = soc.busy
    soc.busy = busy | soc.flash.busy | soc.reboot.busy
    soc.comb += soc.reboot.hold.eq(soc.flash.busy), soc.reboot.link.eq(link)
    add_upkeep(soc, cages)
    add_management(soc, firmware)
    if firmware is not None:
        soc.comb += soc.reboot.alive.eq(soc.management.portal.heartbeat)
