# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util list, with a sysfs that the test makes."""

import re

import pytest

from gateware import numbers
from software.test.standin.sysfs_standin import EXPRESS, config_space
from tools.testing.repository import ROOT


def test_list_shows_each_card_with_the_name_to_open_it_by(util, machine):
    """litepcie_util list shows cards that are bound to Lanebox's driver, to VFIO, to another driver
    or to no driver.

    The command shows no device that is not a card.
    """
    machine.node(1, machine.add("0000:01:00.0", driver="litepcie"))
    machine.add("0000:02:00.0", driver="vfio-pci")
    machine.add("0000:03:00.0")
    machine.add("0000:04:00.0", driver="xdma")
    machine.add("0000:05:00.0", vendor=0x8086)
    machine.add("0000:06:00.0", device=0x7024)
    status, found = util.report("list")
    assert status == 0
    cards = {card["address"]: card for card in found["cards"]}
    assert list(cards) == [f"0000:0{n}:00.0" for n in (1, 2, 3, 4)]
    assert [card["open_as"] for card in cards.values()] == [
        "/dev/litepcie1",
        "vfio:0000:02:00.0",
        None,
        None,
    ]
    assert "vfio bind 0000:03:00.0" in cards["0000:03:00.0"]["advice"]
    assert "xdma has it" in cards["0000:04:00.0"]["advice"]
    assert (cards["0000:01:00.0"]["link_gen"], cards["0000:01:00.0"]["link_lanes"]) == (3, 8)
    text = util.run("list").stdout
    assert "-d /dev/litepcie1" in text and "Gen3 x8" in text


@pytest.mark.parametrize("size", [64, EXPRESS + 0x10])
def test_a_link_that_cannot_be_read_is_not_shown(util, machine, size):
    """litepcie_util list shows no link if the readable part of a card's configuration space ends
    before or inside the PCI Express capability. A user other than root can read the first 64 bytes
    only.
    """
    machine.add("0000:22:00.0", config=config_space()[:size])
    assert util.report("list")[1]["cards"][0]["link_gen"] == 0
    assert "Gen" not in util.run("list").stdout


def test_list_knows_the_cards_that_the_driver_knows(util, machine):
    """litepcie_util list shows exactly those PCI functions of Xilinx whose device number is in the
    kernel driver's table."""
    source = (ROOT / "software" / "kernel" / "pci.c").read_text()
    # The driver's table is LITEPCIE_PCI_DEVICES of litepcie_capability.h, and has no other entry.
    assert re.search(r"litepcie_ids\[.*\] =\n\tLITEPCIE_PCI_DEVICES;", source)
    known = set(numbers.PCI_IDS["devices"])
    devices = [*range(0x9010, 0x9060), 0x8038, 0x7024]
    assert known and known <= set(devices)
    for n, number in enumerate(devices):
        machine.add(f"0000:{n:02x}:00.0", device=number)
    _, found = util.report("list")
    assert {card["device"] for card in found["cards"]} == known


def test_a_machine_without_a_card_is_no_error(util, machine):
    """On a machine without a card litepcie_util list succeeds, and suggests sim:SOCKET."""
    result = util.run("list")
    assert result.returncode == 0
    assert "sim:SOCKET" in result.stdout
