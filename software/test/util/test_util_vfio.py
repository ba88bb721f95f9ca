# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util vfio, with a sysfs that the test makes."""

import os
import shutil
import subprocess

import pytest

from software.test.standin.sysfs_standin import PCI

CARD, GROUP = "0000:22:00.0", 16


def test_bind_does_what_the_kernel_wants_in_its_order(util, machine):
    """vfio bind writes driver_override, unbinds the old driver, and lets the kernel probe the card.

    In this test vfio-pci does not take the card. The command reports that, and clears
    driver_override again, so that the kernel can give the card back to its old driver.
    """
    place = machine.add(CARD, driver="litepcie", group=GROUP)
    machine.driver("vfio-pci")
    status, found = util.report("vfio", "bind", "22:00.0")
    # The last write of `vfio bind` to driver_override is a newline. It has overwritten only the
    # first byte of "vfio-pci", since the file is a plain file, which keeps its other bytes.
    assert (place / "driver_override").read_text() == "\nfio-pci"
    assert machine.read(f"{PCI}/drivers/litepcie/unbind") == CARD
    assert machine.read(f"{PCI}/drivers_probe") == CARD
    assert status == 1
    assert "did not take it" in found["failures"][0]
    assert f"{CARD} is with its driver litepcie" in found["failures"][1]


def test_a_card_that_its_driver_keeps_is_not_probed(util, machine):
    """If the card cannot be unbound from its driver, vfio bind fails and does not let the kernel
    probe the card for another driver.
    """
    machine.add(CARD, driver="litepcie", group=GROUP)
    machine.driver("vfio-pci")
    unbind = machine.root / PCI / "drivers/litepcie/unbind"
    unbind.unlink()
    unbind.mkdir()
    status, found = util.report("vfio", "bind", CARD)
    assert status == 1 and "binding to vfio-pci" in found["failures"][0]
    assert machine.read(f"{PCI}/drivers_probe") == ""


def test_a_card_that_nobody_takes_is_said_to_have_no_driver(util, machine):
    """If vfio-pci does not take a card that had no driver before, vfio bind says that the card has
    none.
    """
    machine.add(CARD, group=GROUP)
    machine.driver("vfio-pci")
    status, found = util.report("vfio", "bind", CARD)
    assert status == 1 and f"{CARD} has no driver now" in found["failures"][1]
    assert found["driver"] is None


def test_a_bound_card_is_ready_when_its_group_can_be_opened(util, machine):
    """vfio status gives the name by which a card bound to vfio-pci is opened. vfio bind of such a
    card changes nothing.
    """
    place = machine.add(CARD, driver="vfio-pci", group=GROUP)
    _type1(machine)
    for verb in ("status", "bind"):
        status, found = util.report("vfio", verb, CARD)
        assert status == 0 and found["ready"] is True and found["findings"] == []
        assert (found["node"], found["device_node"]) == (f"/dev/vfio/{GROUP}", None)
        assert found["interface"] == "type1"
    assert (place / "driver_override").read_text() == "(null)\n"
    assert f"-d vfio:{CARD}" in util.run("vfio", "status", CARD).stdout


@pytest.mark.parametrize("groups", [True, False])
def test_a_card_with_a_file_of_its_own_is_ready_by_iommufd(util, machine, groups):
    """vfio status says that a card is ready by iommufd if this user may open /dev/iommu and the
    card's file in /dev/vfio/devices.

    This holds with and without the files of the older interface, type1.
    """
    place = machine.add(CARD, driver="vfio-pci", group=GROUP)
    (place / "vfio-dev" / "vfio3").mkdir(parents=True)
    if groups:
        _type1(machine)
    for name, ready in (("vfio/devices/vfio3", "type1" if groups else None), ("iommu", "iommufd")):
        machine.write(f"dev/{name}", "")
        status, found = util.report("vfio", "status", CARD)
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
    assert util.report("vfio", "unbind", CARD)[0] == 0
    assert (place / "driver_override").read_text().startswith("\n")
    assert machine.read(f"{PCI}/drivers/vfio-pci/unbind") == CARD
    assert machine.read(f"{PCI}/drivers_probe") == CARD


def test_unbind_names_who_has_the_card_and_changes_nothing(util, machine):
    """vfio unbind refuses while a program that the user can see has the card open, and names the
    program.

    The kernel would wait until that program closes the card.
    """
    place = machine.add(CARD, driver="vfio-pci", group=GROUP)
    _type1(machine)
    before = (place / "driver_override").read_text()
    hold = f"exec sleep 60 <{machine.root}/dev/vfio/{GROUP}; echo"
    with subprocess.Popen(["sh", "-c", hold]) as user:
        while os.readlink(f"/proc/{user.pid}/exe") != shutil.which("sleep"):
            assert user.poll() is None
        status, found = util.report("vfio", "unbind", CARD)
        user.kill()
    assert (status, found["failures"]) == (
        1,
        [f"{CARD} is used by sleep (process {user.pid}): end that first"],
    )
    assert (place / "driver_override").read_text() == before
    assert util.report("vfio", "unbind", CARD)[0] == 0


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
    """vfio status and vfio bind name what prevents the use of a card by VFIO, and bind then changes
    nothing.

    In the test that is a card without an IOMMU group, a driver of another function in the card's
    IOMMU group, or the power state D3hot. The driver of a bridge in the group does not matter.
    """
    machine.driver("vfio-pci")
    place, sentence = plant(machine)
    status, found = util.report("vfio", "status", CARD)
    assert status == 0 and found["ready"] is False
    assert len(found["findings"]) == 1 and sentence in found["findings"][0]
    status, found = util.report("vfio", "bind", CARD)
    assert status == 1 and sentence in found["failures"][0]
    assert (place / "driver_override").read_text() == "(null)\n"
    assert machine.read(f"{PCI}/drivers_probe") == ""


def test_a_group_that_only_root_may_open_is_a_finding(util, machine):
    """vfio status says that a card bound to vfio-pci is ready by the older interface, type1, only
    if this user may open the files of its IOMMU group and of VFIO."""
    machine.add(CARD, driver="vfio-pci", group=GROUP)
    status, found = util.report("vfio", "status", CARD)
    assert status == 0 and found["ready"] is False
    assert f"/dev/vfio/{GROUP} is missing" in found["findings"][0]
    machine.write(f"dev/vfio/{GROUP}", "")
    assert "/dev/vfio/vfio is missing" in util.report("vfio", "status", CARD)[1]["findings"][0]
    if os.geteuid() != 0:  # root may open any file, so this check needs another user
        machine.write(f"dev/vfio/{GROUP}", "").chmod(0)
        assert "by root only" in util.report("vfio", "status", CARD)[1]["findings"][0]


@pytest.mark.parametrize(
    "arguments, status, sentence",
    [
        (["vfio", "bind", CARD], 1, "no PCI function 0000:22:00.0"),
        (["vfio", "status"], 2, "and an address"),
        (["vfio", "steal", CARD], 2, "there are bind, unbind and status"),
        (["vfio", "bind", "22:40.0"], 2, "an address is like"),
        (["vfio", "bind", "22:00.0x"], 2, "an address is like"),
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
