# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util list, vfio, reset and rescan, with a sysfs that the test makes."""

import json
import os
import re
import shutil
import subprocess
import time

import pytest

from gateware import numbers
from software.test.software_build import Util, build_software
from software.test.sysfs_standin import EXPRESS, PCI, Machine, config_space
from tools.testing.repository import ROOT

CARD, GROUP = "0000:22:00.0", 16


@pytest.fixture(scope="session")
def built():
    return build_software()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.setenv("LITEPCIE_ROOT", str(tmp_path))
    return Machine(tmp_path)


@pytest.fixture
def util(built):
    return Util(built.util)


def report(util, *arguments):
    result = util.run("--json", *arguments)
    return result.returncode, json.loads(result.stdout)


# Tests of the command list ------------------------------------------------------------------------


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
    status, found = report(util, "list")
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
    """litepcie_util list shows no link if config space ends before or inside the PCI Express
    capability. A user other than root can read its first 64 bytes only.
    """
    machine.add(CARD, config=config_space()[:size])
    assert report(util, "list")[1]["cards"][0]["link_gen"] == 0
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
    _, found = report(util, "list")
    assert {card["device"] for card in found["cards"]} == known


def test_a_machine_without_a_card_is_no_error(util, machine):
    """On a machine without a card litepcie_util list succeeds, and suggests sim:SOCKET."""
    result = util.run("list")
    assert result.returncode == 0
    assert "sim:SOCKET" in result.stdout


# Tests of the command vfio ------------------------------------------------------------------------


def test_bind_does_what_the_kernel_wants_in_its_order(util, machine):
    """vfio bind writes driver_override, unbinds the old driver, and lets the kernel probe the card.

    In this test no driver takes the card, which the command reports. It then clears driver_override
    again, so that the old driver takes the card at the next probe.
    """
    place = machine.add(CARD, driver="litepcie", group=GROUP)
    machine.driver("vfio-pci")
    status, found = report(util, "vfio", "bind", "22:00.0")
    # The last write of `vfio bind`, a newline, has overwritten the first byte of "vfio-pci", since
    # a file of the stand-in keeps the other bytes.
    assert (place / "driver_override").read_text() == "\nfio-pci"
    assert machine.read(f"{PCI}/drivers/litepcie/unbind") == CARD
    assert machine.read(f"{PCI}/drivers_probe") == CARD
    assert status == 1
    assert "did not take it" in found["failures"][0]
    assert f"{CARD} is with its driver litepcie" in found["failures"][1]


def test_a_card_that_its_driver_keeps_is_not_probed(util, machine):
    """If the kernel does not unbind the card from its driver, vfio bind says so and lets no other
    driver probe the card.
    """
    machine.add(CARD, driver="litepcie", group=GROUP)
    machine.driver("vfio-pci")
    unbind = machine.root / PCI / "drivers/litepcie/unbind"
    unbind.unlink()
    unbind.mkdir()
    status, found = report(util, "vfio", "bind", CARD)
    assert status == 1 and "binding to vfio-pci" in found["failures"][0]
    assert machine.read(f"{PCI}/drivers_probe") == ""


def test_a_card_that_nobody_takes_is_said_to_have_no_driver(util, machine):
    """If vfio-pci does not take a card that had no driver before, vfio bind says that the card has
    none.
    """
    machine.add(CARD, group=GROUP)
    machine.driver("vfio-pci")
    status, found = report(util, "vfio", "bind", CARD)
    assert status == 1 and f"{CARD} has no driver now" in found["failures"][1]
    assert found["driver"] is None


def test_a_bound_card_is_ready_when_its_group_can_be_opened(util, machine):
    """vfio status gives the name by which a bound card is opened. vfio bind of a bound card changes
    nothing.
    """
    place = machine.add(CARD, driver="vfio-pci", group=GROUP)
    _type1(machine)
    for verb in ("status", "bind"):
        status, found = report(util, "vfio", verb, CARD)
        assert status == 0 and found["ready"] is True and found["findings"] == []
        assert (found["node"], found["device_node"]) == (f"/dev/vfio/{GROUP}", None)
        assert found["interface"] == "type1"
    assert (place / "driver_override").read_text() == "(null)\n"
    assert f"-d vfio:{CARD}" in util.run("vfio", "status", CARD).stdout


@pytest.mark.parametrize("groups", [True, False])
def test_a_card_with_a_file_of_its_own_is_ready_by_iommufd(util, machine, groups):
    """vfio status says that a card is ready by iommufd if this user may open /dev/iommu and the
    card's file.

    This holds with and without the files of the older interface, type1.
    """
    place = machine.add(CARD, driver="vfio-pci", group=GROUP)
    (place / "vfio-dev" / "vfio3").mkdir(parents=True)
    if groups:
        _type1(machine)
    for name, ready in (("vfio/devices/vfio3", "type1" if groups else None), ("iommu", "iommufd")):
        machine.write(f"dev/{name}", "")
        status, found = report(util, "vfio", "status", CARD)
        assert status == 0 and found["device_node"] == "/dev/vfio/devices/vfio3"
        assert (found["interface"], found["ready"]) == (ready, ready is not None)
        assert groups or ready or "/dev/iommu is missing" in found["findings"][0]
        assert found["findings"] == [] or not ready
    assert f"-d vfio:{CARD} (by iommufd)" in util.run("vfio", "status", CARD).stdout


def test_unbind_clears_the_override_and_gives_the_card_back(util, machine):
    """vfio unbind clears driver_override with an empty line, unbinds vfio-pci, and lets the kernel
    probe.
    """
    place = machine.add(CARD, driver="vfio-pci", group=GROUP)
    assert report(util, "vfio", "unbind", CARD)[0] == 0
    assert (place / "driver_override").read_text().startswith("\n")
    assert machine.read(f"{PCI}/drivers/vfio-pci/unbind") == CARD
    assert machine.read(f"{PCI}/drivers_probe") == CARD


def test_unbind_names_who_has_the_card_and_changes_nothing(util, machine):
    """vfio unbind refuses while a program has the card open, and names the program.

    The kernel would wait until that program closes the card.
    """
    place = machine.add(CARD, driver="vfio-pci", group=GROUP)
    _type1(machine)
    before = (place / "driver_override").read_text()
    hold = f"exec sleep 60 <{machine.root}/dev/vfio/{GROUP}; echo"
    with subprocess.Popen(["sh", "-c", hold]) as user:
        while os.readlink(f"/proc/{user.pid}/exe") != shutil.which("sleep"):
            assert user.poll() is None
        status, found = report(util, "vfio", "unbind", CARD)
        user.kill()
    assert (status, found["failures"]) == (
        1,
        [f"{CARD} is used by sleep (process {user.pid}): end that first"],
    )
    assert (place / "driver_override").read_text() == before
    assert report(util, "vfio", "unbind", CARD)[0] == 0


def _type1(machine):
    """Make the device files of VFIO's older interface, type1, in the stand-in for /dev/vfio."""
    machine.write(f"dev/vfio/{GROUP}", "")
    machine.write("dev/vfio/vfio", "")


def _no_group(machine):
    return machine.add(CARD, driver="litepcie"), "in no IOMMU group"


def _shared_group(machine):
    machine.add("0000:22:00.1", vendor=0x8086, driver="snd_hda_intel", group=GROUP)
    machine.add("0000:21:00.0", vendor=0x1B21, driver="pcieport", group=GROUP)
    return machine.add(
        CARD, driver="litepcie", group=GROUP
    ), "0000:22:00.1 shares IOMMU group 16 and is driven by snd_hda_intel"


def _asleep(machine):
    return machine.add(CARD, group=GROUP, power_state="D3hot"), "sleeps (D3hot)"


@pytest.mark.parametrize("plant", [_no_group, _shared_group, _asleep])
def test_what_is_in_the_way_is_named_and_nothing_is_changed(util, machine, plant):
    """vfio status and vfio bind name what prevents VFIO, and bind then changes nothing.

    VFIO is prevented by a missing IOMMU, by the driver of another function in the group, and by
    power state D3. A bridge's driver does not prevent it.
    """
    machine.driver("vfio-pci")
    place, sentence = plant(machine)
    status, found = report(util, "vfio", "status", CARD)
    assert status == 0 and found["ready"] is False
    assert len(found["findings"]) == 1 and sentence in found["findings"][0]
    status, found = report(util, "vfio", "bind", CARD)
    assert status == 1 and sentence in found["failures"][0]
    assert (place / "driver_override").read_text() == "(null)\n"
    assert machine.read(f"{PCI}/drivers_probe") == ""


def test_a_group_that_only_root_may_open_is_a_finding(util, machine):
    """vfio status says that a bound card is ready only if this user may open its IOMMU group."""
    machine.add(CARD, driver="vfio-pci", group=GROUP)
    status, found = report(util, "vfio", "status", CARD)
    assert status == 0 and found["ready"] is False
    assert f"/dev/vfio/{GROUP} is missing" in found["findings"][0]
    machine.write(f"dev/vfio/{GROUP}", "")
    assert "/dev/vfio/vfio is missing" in report(util, "vfio", "status", CARD)[1]["findings"][0]
    if os.geteuid() != 0:  # root may open any file, so this check needs another user
        machine.write(f"dev/vfio/{GROUP}", "").chmod(0)
        assert "by root only" in report(util, "vfio", "status", CARD)[1]["findings"][0]


@pytest.mark.parametrize(
    "arguments, status, sentence",
    [
        (["vfio", "bind", CARD], 1, "no PCI function 0000:22:00.0"),
        (["vfio", "status"], 2, "and an address"),
        (["vfio", "steal", CARD], 2, "there are bind, unbind and status"),
        (["vfio", "bind", "22:40.0"], 2, "an address is like"),
        (["vfio", "bind", "22:00.0x"], 2, "an address is like"),
        (["rescan", "card"], 2, "an address is like"),
    ],
)
def test_what_cannot_be_meant_is_a_sentence(util, machine, arguments, status, sentence):
    """If the card is missing, or the verb or the address is wrong, litepcie_util prints a message
    that says so.
    """
    result = util.run(*arguments)
    assert result.returncode == status and sentence in result.stderr


def test_without_the_module_bind_says_to_load_it(util, machine):
    """If the module vfio-pci is not loaded, vfio bind says to load it, and the card keeps its
    driver.
    """
    place = machine.add(CARD, driver="litepcie", group=GROUP)
    result = util.run("vfio", "bind", CARD)
    assert result.returncode == 1 and "modprobe vfio-pci" in result.stderr
    assert (place / "driver_override").read_text() == "(null)\n"


# Tests of the commands reset and rescan -----------------------------------------------------------


def test_rescan_removes_the_card_and_looks_again(util, machine):
    """litepcie_util rescan writes to the card's `remove` and to the bus' `rescan` in sysfs.

    The card is given by its address or by its device node.
    """
    place = machine.add(CARD, driver="litepcie", group=GROUP)
    machine.node(0, place)
    for arguments in (["rescan", "22:00.0"], ["-c", "0", "rescan"]):
        (place / "remove").write_text("")
        machine.write(f"{PCI}/rescan", "")
        status, found = report(util, *arguments)
        assert status == 0 and found["address"] == CARD and found["driver"] == "litepcie"
        assert (place / "remove").read_text() == "1"
        assert machine.read(f"{PCI}/rescan") == "1"


def test_rescan_looks_again_until_the_card_is_there(util, machine):
    """litepcie_util rescan lets the kernel search the bus until the card is found: an FPGA takes a
    while to configure itself, and the kernel does not find it before.
    """
    place = machine.add(CARD, driver="litepcie", group=GROUP)
    (place / "vendor").rename(place / "away")
    begin = time.monotonic()
    process = util.start("--json", "rescan", CARD)
    for _ in range(2):
        deadline = time.monotonic() + 30
        while machine.read(f"{PCI}/rescan") != "1":
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        machine.write(f"{PCI}/rescan", "")
    # Half a second passes between two searches: each of them takes the kernel a while.
    assert time.monotonic() - begin >= 0.5
    (place / "away").rename(place / "vendor")
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and json.loads(text)["address"] == CARD


def test_reset_goes_through_the_kernel_and_says_when_it_cannot(util, machine):
    """litepcie_util reset writes to the card's `reset` in sysfs.

    Without that file the message suggests rescan.
    """
    place = machine.add(CARD, driver="litepcie", group=GROUP)
    machine.node(0, place)
    # The command reset fails only after the reset, since the stand-in machine has no
    # /dev/litepcie0.
    util.run("-c", "0", "reset")
    assert (place / "reset").read_text() == "1"
    (place / "reset").unlink()
    assert "try litepcie_util rescan" in util.run("-c", "0", "reset").stderr
