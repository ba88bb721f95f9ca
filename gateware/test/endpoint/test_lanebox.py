# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of endpoint/lanebox.py and mmio/bridge.py: each instance fits its SpinalHDL component."""

from pathlib import Path

import pytest
from litepcie.common import msi_layout
from litepcie.frontend.wishbone import LitePCIeWishboneMaster
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import *

from gateware.endpoint.lanebox import LaneboxEndpoint
from gateware.mmio.axi import user_axi
from gateware.mmio.bridge import MmioBridge, card_memories
from gateware.vocabulary import layouts

CLOCK = 250e6


class Sources:
    """Stand-in for a LiteX platform. It only collects the names of the Verilog files that are added
    to it.
    """

    def __init__(self):
        self.names = set()

    def add_source(self, file):
        self.names.add(Path(file).stem)


class Phy(LiteXModule):
    """Stand-in for the PHY. It has the signals of the hard block's pins, but no hard block behind
    them.
    """

    def __init__(self):
        self.platform = Sources()
        self.clock = CLOCK
        self.data_width = 256
        self.bar0_mask = 0x1FFFF
        self.id = Signal(16)
        self.np_request = Signal(2)
        self.stop = Signal()
        self.idle = Signal()
        for name in ("cq", "cc", "rq", "rc"):
            setattr(self, name, stream.Endpoint(getattr(layouts, f"{name}_layout")()))
        self.msi = stream.Endpoint(msi_layout())
        self.msix = Record(layouts.msix_control_layout())
        self.sequence = Record(layouts.sequence_layout())
        self.settings = Record(layouts.link_settings_layout())
        self.cfg_mgmt = Record(layouts.cfg_mgmt_layout())


class Card(LiteXModule):
    """Design of an endpoint with a port for writes and one for reads of host memory, and with the
    blocks that `parts` names.
    """

    def __init__(self, parts):
        self.phy = Phy()
        self.endpoint = LaneboxEndpoint(self.phy)
        self.endpoint.crossbar.get_master_port(write_only=True)
        self.endpoint.crossbar.get_master_port(read_only=True)
        if "msix" in parts:
            self.endpoint.add_msix()
        if "slave" in parts:
            self.front_end = LitePCIeWishboneMaster(self.endpoint)
        if "bridge" in parts or "axi" in parts:
            memories = card_memories([[], []])
            for name, memory in memories.items():
                setattr(self, name, memory)
            self.bridge = MmioBridge(
                self.endpoint, memories, axi=user_axi() if "axi" in parts else None
            )


@pytest.mark.parametrize(
    "parts, components",
    [
        (["slave"], {"Completer", "Requester", "SlavePort"}),
        (["slave", "axi"], {"Completer", "Requester", "SlavePort", "MmioBridge"}),
        (["bridge"], {"Completer", "Requester", "MmioBridge"}),
        (["bridge", "msix"], {"Completer", "Requester", "MmioBridge"}),
        (["axi"], {"Completer", "Requester", "MmioBridge"}),
    ],
)
def test_every_instance_fits_its_component(parts, components):
    """Each instance has all ports of its component, with the right widths. No port is left open
    unless allowed.
    """
    card = Card(parts)
    card.get_fragment()
    assert card.phy.platform.names == components


def test_the_requester_is_told_what_each_port_does_and_whether_it_is_fenced(monkeypatch):
    """In the Requester's parameter `clients`, a port that is not fenced has the letter u behind its
    directions (r and w).
    """
    asked = {}
    monkeypatch.setattr(
        LaneboxEndpoint,
        "_instance",
        lambda self, component, parameters, left_open=None, **ports: asked.update(
            {component: parameters}
        ),
    )
    card = Card([])
    card.endpoint.crossbar.get_master_port(fenced=False)
    card.endpoint.crossbar.get_master_port()
    card.get_fragment()
    assert asked["endpoint.Requester"]["clients"] == "w,r,rwu,rw"
