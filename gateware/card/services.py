# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The card services in the SoC: the flash engine and the reboot."""

from gateware.card.flash import Flash
from gateware.card.reboot import Reboot


def add_card(soc):
    """Adds the card services to the SoC. They need pins of the part's configuration alone."""
    soc.flash  = Flash()
    soc.reboot = Reboot()
    busy = soc.busy
    soc.busy = busy | soc.flash.busy | soc.reboot.busy
    soc.comb += soc.reboot.hold.eq(soc.flash.busy)
