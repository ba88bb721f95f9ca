# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of targets/pads.py: LiteX's platform of a board, and the PCIe core's pads on fewer
lanes.
"""

import pytest
from litex.build.generic_platform import ConstraintError
from migen import Module, Record
from sample_board import BOARD

from targets.pads import CORE_LANES, CorePads, make_platform
from tools.testing.stream_model import simulate

PAIRS = ("rx_p", "rx_n", "tx_p", "tx_n")


def pins(lanes):
    """Return the board's pins of a build with this many lanes."""
    return Record([("rst_n", 1), ("clk_p", 1), ("clk_n", 1), *((name, lanes) for name in PAIRS)])


def constraints(platform):
    """Return {(resource, pin's name or None): (pins, other constraints)} of what a design requested
    from the platform.
    """
    found = {}
    for _, places, others, (name, number, pin) in platform.constraint_manager.get_sig_constraints():
        texts = [getattr(other, "name", None) or other.misc for other in others]
        found[f"{name}{number}" if pin is None else pin] = places, texts
    return found


# Platform -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [4, 1])
def test_the_platform_has_the_pins_of_the_lanes_asked_for(lanes):
    """The pads of the PCIe link that the platform gives have as many lanes as asked for, lane 0
    first, each at the board's pin.
    """
    platform = make_platform(BOARD, lanes)
    link = platform.request(f"pcie_x{lanes}")
    assert [len(getattr(link, name)) for name in PAIRS] == [lanes] * 4
    found = constraints(platform)
    assert found["rx_p"] == (["R0", "R1", "R2", "R3"][:lanes], [])
    assert found["tx_n"] == (["S4", "S5", "S6", "S7"][:lanes], [])
    assert found["rst_n"] == (["C3"], ["LVCMOS18"])


def test_the_platform_is_for_the_boards_part():
    """make_platform() gives a platform for the board's FPGA, with no PCIe link of another width
    than was asked for.
    """
    platform = make_platform(BOARD, 1)
    assert platform.device == BOARD.device
    with pytest.raises(ConstraintError):
        platform.request("pcie_x4")


def test_leds_have_their_standard_and_properties():
    """On the platform each LED whose pin is proven is a `user_led` with its I/O standard and all
    other properties.
    """
    platform = make_platform(BOARD, 4)
    assert len(platform.request_all("user_led")) == 1
    assert constraints(platform)["user_led0"] == (["L0"], ["LVCMOS12", "DRIVE=2", "SLEW=SLOW"])


def test_a_request_for_a_net_that_cannot_be_used_says_why():
    """The platform's error for a net that no design can use is what the board's table says of that
    net.
    """
    with pytest.raises(LookupError, match="user_led2 cannot be used. It is green: look for it."):
        make_platform(BOARD, 4).request("user_led2")


@pytest.mark.parametrize("name", ["clk100", "no_such_net"])
def test_another_request_that_fails_has_litexs_error(name):
    """For a usable net that no build has as a port, and for a name that is no net, the platform
    raises LiteX's own error.
    """
    with pytest.raises(ConstraintError, match=name):
        make_platform(BOARD, 4).request(name)


def test_a_pin_is_given_once():
    """A second request for the PCIe link raises LiteX's error: no two parts of a design share its
    pins.
    """
    platform = make_platform(BOARD, 4)
    platform.request("pcie_x4")
    with pytest.raises(ConstraintError, match="pcie_x4"):
        platform.request("pcie_x4")


# Pads of the core ---------------------------------------------------------------------------------


class Joined(Module):
    """A design with the PCIe core's pads joined to a board with this many lanes."""

    def __init__(self, lanes):
        self.pins = pins(lanes)
        self.pads = CorePads(self.pins)
        self.comb += self.pads.connect(self.pins)


def test_the_core_has_eight_lanes_and_the_boards_clock_and_reset():
    """On any board the PCIe core has pads for eight lanes. Clock and reset are the board's own."""
    board = pins(1)
    pads = CorePads(board)
    assert [len(getattr(pads, name)) for name in PAIRS] == [CORE_LANES] * 4
    assert (pads.rst_n, pads.clk_p, pads.clk_n) == (board.rst_n, board.clk_p, board.clk_n)


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("half", ["p", "n"])
def test_each_lane_of_the_board_is_the_same_lane_of_the_core(lanes, half):
    """A lane of the board is the core's lane of that number in both directions.

    Lanes that the board lacks receive 0, and what the core sends on them goes nowhere.
    """
    dut = Joined(lanes)
    board_rx, board_tx = getattr(dut.pins, f"rx_{half}"), getattr(dut.pins, f"tx_{half}")
    core_rx, core_tx = getattr(dut.pads, f"rx_{half}"), getattr(dut.pads, f"tx_{half}")

    def drive():
        for lane in range(CORE_LANES):
            yield board_rx.eq(1 << lane if lane < lanes else 0)
            yield core_tx.eq(1 << lane)
            yield
            yield
            there = 1 << lane if lane < lanes else 0
            assert (yield core_rx) == there
            assert (yield board_tx) == there

    simulate(dut, [drive()])


@pytest.mark.parametrize("name", ["rx", "tx"])
def test_the_halves_of_a_pair_are_not_mixed(name):
    """A value on the positive half of a lane's differential pair does not come out of the negative
    one.
    """
    dut = Joined(4)
    given, taken = (dut.pins, dut.pads) if name == "rx" else (dut.pads, dut.pins)

    def drive():
        yield getattr(given, f"{name}_p").eq(0b0101)
        yield getattr(given, f"{name}_n").eq(0b1010)
        yield
        yield
        assert (yield getattr(taken, f"{name}_p")) == 0b0101
        assert (yield getattr(taken, f"{name}_n")) == 0b1010

    simulate(dut, [drive()])
