# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of phy/pcie4.py: the PHY's times in cycles of its clock."""

import pytest
from litex.build.generic_platform import Pins, Subsignal
from litex.build.xilinx import XilinxUSPPlatform

from gateware.endpoint.endpoints import make_endpoint
from gateware.phy.hard_block import make_phy


@pytest.mark.parametrize("clock", [250e6, 125e6])
def test_times_are_the_same_at_another_clock(clock):
    """At another clock frequency the endpoint's timeouts last as many seconds, so they have other
    cycles.
    """
    pads = [
        Subsignal(name, Pins(width))
        for name, width in (
            ("rst_n", 1),
            ("clk_p", 1),
            ("clk_n", 1),
            ("rx_p", 8),
            ("rx_n", 8),
            ("tx_p", 8),
            ("tx_n", 8),
        )
    ]
    platform = XilinxUSPPlatform("xcku5p-ffvb676-2-i", [("pcie_x8", 0, *pads)])
    phy = make_phy("lanebox", platform, platform.request("pcie_x8"), clock=clock)
    endpoint = make_endpoint("lanebox", phy)
    assert endpoint._timeout.storage.reset.value == 20e-3 * clock
    assert phy.flr.drain_cycles == 40e-3 * clock
