# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of targets/nets.py with a sample board; test_boards.py has the real boards' tables."""

import dataclasses
import importlib
import re
from collections import Counter

import pytest
from sample_board import BOARD, NETS

from targets.nets import Net, constraints, markdown

BOARDS = ["ku5p", "as02mc04", "rk_xcku5p"]

# The constraints of the sample board's build with one lane, which every synthesis tool gets.
X1 = """\
set_property PACKAGE_PIN C3 [get_ports {pcie_x1_rst_n}]
set_property IOSTANDARD LVCMOS18 [get_ports {pcie_x1_rst_n}]
set_property PACKAGE_PIN C1 [get_ports {pcie_x1_clk_p}]
set_property PACKAGE_PIN C2 [get_ports {pcie_x1_clk_n}]
set_property PACKAGE_PIN R0 [get_ports {pcie_x1_rx_p}]
set_property PACKAGE_PIN R4 [get_ports {pcie_x1_rx_n}]
set_property PACKAGE_PIN S0 [get_ports {pcie_x1_tx_p}]
set_property PACKAGE_PIN S4 [get_ports {pcie_x1_tx_n}]
set_property PACKAGE_PIN L0 [get_ports {user_led0}]
set_property IOSTANDARD LVCMOS12 [get_ports {user_led0}]
set_property DRIVE 2 [get_ports {user_led0}]
set_property SLEW SLOW [get_ports {user_led0}]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_x1_clk_p]
set_false_path -from [get_ports pcie_x1_rst_n]
"""

# Nets ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pcie.clk_p", "user_led0", "user_led1", "clk100"])
def test_a_net_with_pins_is_found_by_its_name(name):
    """Board.net() returns a net whose pins are known, however surely, as the table has it."""
    assert BOARD.net(name) in NETS
    assert BOARD.net(name).name == name


@pytest.mark.parametrize(
    "name, said",
    [
        ("user_led2", "Sample card: user_led2 cannot be used. It is green: look for it."),
        ("user_led3", "Sample card: user_led3 cannot be used. It shows DONE."),
    ],
)
def test_a_net_that_no_design_can_use_is_refused_with_its_advice(name, said):
    """Board.net() refuses an UNKNOWN net, and a net whose pin is not the fabric's. The error has
    the advice that the net's row in the table gives.
    """
    with pytest.raises(LookupError, match=f"^{re.escape(said)}$"):
        BOARD.net(name)


def test_a_net_that_is_not_there_is_refused_with_the_list_of_nets():
    """The error of Board.net() for an unknown name quotes it and lists all nets, so that a typing
    error shows.
    """
    names = ", ".join(net.name for net in NETS)
    said = f"Sample card has no net 'pcie.clk': there are {names}"
    with pytest.raises(LookupError, match=f"^{re.escape(said)}$"):
        BOARD.net("pcie.clk")


@pytest.mark.parametrize("name", BOARDS)
def test_every_net_of_a_board_has_a_name_of_its_own(name):
    """No two nets of a board have one name: Board.net() could only return one of them.

    That holds for lanes, too. A lane in two nets would shift the pins of all lanes after it.
    """
    board = importlib.import_module(f"targets.{name}_platform").BOARD
    names = []
    for net in board.nets:
        lanes = re.fullmatch(r"(.*)\[(\d+)(?:-(\d+))?\]", net.name)
        if lanes:
            first, last = int(lanes[2]), int(lanes[3] or lanes[2])
            assert len(net.pins.split()) == last - first + 1, net.name
            names += [f"{lanes[1]}[{lane}]" for lane in range(first, last + 1)]
        else:
            names.append(net.name)
    assert [name for name, times in Counter(names).items() if times > 1] == []


# Builds -------------------------------------------------------------------------------------------


def test_lanes_are_joined_from_all_nets_of_a_pin():
    """Board.lane_pins() joins the pins of all lanes from the nets that have them, in order. Fewer
    lanes are the first ones.
    """
    assert BOARD.lane_pins("rx_p", 4) == ["R0", "R1", "R2", "R3"]
    assert BOARD.lane_pins("rx_p", 1) == ["R0"]


@pytest.mark.parametrize("lanes", [0, 2, 8])
def test_a_number_of_lanes_that_the_board_lacks_is_refused(lanes):
    """The error for a number of PCIe lanes that the board lacks names that number and those that a
    build can have.
    """
    said = f"Sample card has no {lanes} lanes: choose 4 or 1"
    with pytest.raises(LookupError, match=f"^{said}$"):
        BOARD.resources(lanes)
    with pytest.raises(LookupError, match=f"^{said}$"):
        constraints(BOARD, lanes)


def test_a_build_has_no_led_that_is_not_proven():
    """An LED is a port of a build only if its pin is surely known (HIGH) and belongs to the fabric.

    An output on the wrong pin could short a driver of the card.
    """
    ports = [port for port, _, _ in BOARD.resources(4)]
    assert [port for port in ports if "led" in port] == ["user_led0"]


def test_a_build_without_a_usable_clock_is_refused():
    """If the reference clock's pin is UNKNOWN, a build of the board is refused with the net's
    advice.
    """
    clock = Net("pcie.clk_p", "", "", "unknown", "nobody", "Measure it.")
    nets = tuple(clock if net.name == clock.name else net for net in NETS)
    with pytest.raises(LookupError, match="Sample card: pcie.clk_p cannot be used. Measure it."):
        constraints(dataclasses.replace(BOARD, nets=nets), 1)


# What is written of them --------------------------------------------------------------------------


def test_constraints_of_one_lane_have_no_index():
    """The constraints of a build with one lane have each pin, its standard and its properties.
    Their ports are no buses.
    """
    assert constraints(BOARD, 1) == X1


def test_constraints_place_each_lane_at_its_index():
    """In the constraints of a build with several lanes the ports are buses, and bit n of each has
    the pin of lane n.
    """
    placed = re.findall(r"PACKAGE_PIN (\S+) \[get_ports \{(\S+)\}\]", constraints(BOARD, 4))
    for port, pins in {"rx_p": "R0 R1 R2 R3", "tx_n": "S4 S5 S6 S7"}.items():
        found = [pin for pin, name in placed if name.startswith(f"pcie_x4_{port}")]
        assert found == pins.split()
        for lane, pin in enumerate(pins.split()):
            assert (pin, f"pcie_x4_{port}[{lane}]") in placed
    assert len(placed) == len(set(placed)) == len({pin for pin, _ in placed})


def test_the_table_has_a_line_for_each_net_with_its_advice():
    """markdown() writes a table with every net, `-` for pins that are not known, and source and
    advice.
    """
    _, _, *lines = markdown(BOARD).splitlines()
    assert len(lines) == len(NETS)
    assert "| `user_led1` | L1 | LVCMOS12 | inferred | its neighbour |" in lines
    assert "| `user_led2` | - | - | unknown | a photograph. It is green: look for it. |" in lines
