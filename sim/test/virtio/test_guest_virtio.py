# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Debian's virtio_net and virtio_console drive a card's virtio devices through litepcie_virtio.ko.

The card is the program virtio_card, which answers by software. All tests of a machine run in one
guest.
"""

import tempfile
from pathlib import Path

import pytest

from sim.guest import run
from sim.test.driver import made_up_blocks
from sim.test.driver.driver_guest import kernels
from sim.test.driver.live_guest import LiveGuest
from sim.test.virtio import virtio_card
from sim.test.virtio.virtio_card import VirtioCard, virtio_block
from sim.test.virtio.virtio_guest import SHELL, check_quiet, files

pytestmark = pytest.mark.guest
KERNELS = [None, *(pytest.param(series, marks=pytest.mark.soak) for series in kernels()[1:])]

# Numbers of virtio's feature bits, as the standard has them.
INDIRECT, EVENT_INDEX, VERSION_1, ACCESS, ORDER, NOTIFICATION_DATA = 28, 29, 32, 33, 36, 38
IOMMU = ("-device", "intel-iommu,intremap=on,caching-mode=on")
UP = [SHELL, "load; ready"]
# The state of both devices after an event: they are there, and everything comes back.
WORKS = "ready; echoed again; pinged 10"
# MiB of memory of a guest whose rings are above 4 GiB. The host keeps only what the guest uses.
FAR_MEMORY = 5120
STATUS = f"{virtio_card.NET + 0x70:#x}"  # offset in BAR0 of the net device's status register
CAUSES = 7 << virtio_card.NET_CAUSE
# The card's counts at each `ask count` of a guest.
COUNTED: list[dict] = []
# Shell functions: `now` prints the time in ms, and `master` whether the card is a bus master.
MASTER = (
    "now() { awk '{print int($1 * 1000)}' /proc/uptime; }; "
    "master() { echo $((0x$(xxd -s 4 -l 1 -p $card/config) >> 2 & 1)); }"
)
AGAIN = "ask insert; echo 1 >/sys/bus/pci/rescan"


def live(series=None, msix=False, entries=None, **choices):
    """Yield a guest with this kernel whose card is a virtio_card."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as place:
        patch.setattr(run, "PLACE", Path(place))
        with LiveGuest(
            programs=["stress"],
            files=files(series),
            board=lambda: VirtioCard(msix, entries),
            kernel=series,
            **choices,
        ) as guest:
            yield guest


@pytest.fixture(scope="module", params=KERNELS, ids=lambda series: series or "default")
def guest(request):
    yield from live(request.param)


@pytest.fixture(scope="module")
def behind_iommu():
    yield from live(append=("intel_iommu=on",), devices=IOMMU)


@pytest.fixture(scope="module")
def with_far_memory():
    """Yield a guest with more memory than fits below 4 GiB. Its kernel takes memory above 4 GiB
    first."""
    yield from live(memory=FAR_MEMORY)


@pytest.fixture(scope="module")
def with_msix():
    """Yield a guest whose card has MSI-X. The card's capability table has one more virtio device,
    which the driver must leave out because another device has its interrupt cause."""
    overlap = virtio_block(2, 0xA000, 3, virtio_card.CONSOLE_CAUSE + 1)
    yield from live(msix=True, entries=[*virtio_card.blocks(msix=True), overlap])


def step(guest, *commands):
    """Run commands in the guest, with the shell functions of SHELL. Fail if the kernel log has a
    complaint. Returns the files of the guest's folder /out, and the counts of the program that
    plays the card (VirtioCard.stats())."""
    found = guest.run([*UP, *commands], functions, then="")
    check_quiet(found)
    return found, guest.board.stats()


def functions(card):
    words = {"remove": "fault remove", "insert": "fault insert", "up": "link up"}
    words |= {"down": "link down", "stick": "net stick", "free": "net free"}
    calls = {word: lambda line=line: card.command(line) for word, line in words.items()}
    return {**calls, "count": lambda: COUNTED.append(card.stats())}


def test_the_stock_drivers_take_the_features_of_the_card(guest):
    """virtio_net and virtio_console bind. They and the transport choose every feature of the card
    that saves a round trip or that an IOMMU needs."""
    found, stats = step(
        guest,
        "for device in /sys/bus/virtio/devices/*; do basename $(readlink -f $device/driver); done "
        ">/out/drivers",
    )
    assert sorted(found["drivers"].split()) == [b"virtio_console", b"virtio_net"]
    wanted = (INDIRECT, EVENT_INDEX, VERSION_1, ACCESS, ORDER, NOTIFICATION_DATA)
    for device in ("net", "console"):
        assert all(stats[device]["features"] >> bit & 1 for bit in wanted), stats


def test_the_page_is_accessed_in_dwords_only(guest):
    """litepcie_virtio.ko reads and writes the virtio devices' registers and configuration in
    aligned dwords only. The MAC address, which virtio_net reads byte by byte, is right."""
    found, stats = step(guest, "cat /sys/class/net/eth0/address /sys/class/net/eth0/mtu >/out/mac")
    assert found["mac"] == b"02:00:00:00:00:01\n1500\n"
    assert stats["net"]["odd"] == stats["console"]["odd"] == 0


def test_the_console_gives_every_byte_back(guest):
    """A program in the guest writes 16 KiB to the card's virtio console in raw mode. The card sends
    all of them back unchanged."""
    step(
        guest,
        "head -c 16384 /bin/busybox >/tmp/sent",
        "(console; cat /tmp/sent >&4 & head -c 16384 <&4 >/tmp/back; wait)",
        "cmp /tmp/sent /tmp/back",
    )


def test_pings_are_answered_and_counted(guest):
    """The card's net device answers 60 pings of 1400 bytes from the guest. The card has counted as
    many frames as the guest's kernel."""
    place = "/sys/class/net/eth0/statistics"
    counts = f"cat {place}/tx_packets {place}/rx_packets"
    found, _ = step(
        guest,
        "echo 1 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6; sleep 0.2",
        f"ask count; {counts} >/out/before; pinged 60; ask count; {counts} >/out/after",
    )
    sent, received = (
        int(after) - int(b) for after, b in zip(found["after"].split(), found["before"].split())
    )
    before, after = (stats["net"] for stats in COUNTED[-2:])
    assert received >= 60
    assert after["messages"] - before["messages"] == sent
    assert after["answers"] - before["answers"] == received
    assert after["dropped"] == 0


def test_the_link_s_state_follows_the_card(guest):
    """When the card raises the interrupt for a change of its net device's configuration, virtio_net
    reads the new state of the link (up or down) from the card."""
    step(guest, "ask down; carrier 0", "ask up; carrier 1; pinged 4")


def test_an_interrupt_costs_no_register_read_of_the_transport(guest):
    """For each interrupt the card's registers are read once, by litepcie.ko, to learn the cause."""
    before = step(guest)[1]
    after = step(guest, "pinged 40")[1]
    reads, messages = (after[name] - before[name] for name in ("reads", "messages"))
    print(reads, messages)
    assert messages >= 40 and reads <= messages + 10


def test_the_transport_is_loaded_anew_under_traffic(guest):
    """Three times litepcie_virtio.ko is unloaded while pings and console traffic run, and loaded
    again. The kernel log says nothing about it, and both devices work."""
    _, stats = step(
        guest, "busy; for n in 1 2 3; do unload; load; ready; sleep 0.3; done; idle", WORKS
    )
    assert stats["net"]["broken"] == stats["console"]["broken"] == 0


def test_the_card_is_removed_in_order_under_traffic(guest):
    """While pings and console traffic run, the card is unbound from the driver, and removed by
    sysfs. When the kernel has found the card again, both virtio devices work."""
    step(
        guest,
        "busy; echo 0000:01:00.0 >$driver/unbind; [ ! -d /sys/class/net/eth0 ]",
        "echo 0000:01:00.0 >$driver/bind; ready; sleep 0.3; echo 1 >$card/remove",
        "echo 1 >/sys/bus/pci/rescan; sleep 0.3; idle",
        WORKS,
    )


def test_a_card_that_vanishes_under_traffic_is_removed(guest):
    """The card vanishes while pings and console traffic run. Nothing hangs, and the removal by
    sysfs ends. When the card is back, both devices work."""
    found, _ = step(
        guest,
        # Each line is waited for by virtio_console with interrupts off.
        "busy; ask remove; sleep 0.5; (console; for n in 1 2 3; do echo $n >&4; done)",
        f"echo 1 >$card/remove; [ ! -d /sys/class/net/eth0 ]; {AGAIN}",
        f"sleep 0.3; idle; {WORKS}",
    )
    assert b"the card no longer answers" in found["dmesg"]


def test_a_reset_makes_the_devices_anew(guest):
    """If the card is reset by sysfs while pings and console traffic run, the driver removes both
    virtio devices and adds them again after the reset."""
    step(
        guest,
        "before=$(cat /sys/class/net/eth0/ifindex); busy; echo 1 >$card/reset || true; idle; ready",
        "[ $(cat /sys/class/net/eth0/ifindex) != $before ]",
        WORKS,
    )


def test_the_devices_sleep_with_their_card(guest):
    """If the card sleeps and wakes up, the virtio drivers get their queues anew: the interface is
    the same as before, and both devices work.

    The handlers are called by a module of the test. The card keeps its power meanwhile.
    """
    found, _ = step(
        guest,
        "before=$(cat /sys/class/net/eth0/ifindex)",
        "insmod /litepcie_sleep.ko; rmmod litepcie_sleep",
        "[ $(cat /sys/class/net/eth0/ifindex) = $before ]; echoed again; pinged 10",
    )
    assert b"slept: 0" in found["dmesg"]


def test_a_reset_that_does_not_end_costs_bus_mastering_until_the_card_s_reset(guest):
    """If the net device does not end its reset, the transport waits for 2 s, and takes bus
    mastering from the card. The kernel has nothing to complain about, and no driver gets the
    device. After a reset of the card both devices work.
    """
    found, _ = step(
        guest,
        f"{MASTER}; ask stick; before=$(now); unload; echo $(($(now) - before)) >/out/ms",
        "[ $(master) = 0 ]; load; [ ! -d /sys/class/net/eth0 ]",
        f"ask free; echo 1 >$card/reset || true; [ $(master) = 1 ]; {WORKS}",
    )
    log = found["dmesg"].decode()
    assert log.count("does not end its reset (status 0xf): bus mastering is off") == 2
    assert 2000 <= int(found["ms"]) < 6000


def test_the_probe_resets_what_an_earlier_kernel_has_left_running(guest):
    """If a virtio device runs when litepcie.ko is loaded, as after a kexec, the probe resets it. If
    the device does not end that reset, the card is not driven. It is then no bus master, even if
    the earlier kernel has left it one.
    """
    found, _ = step(
        guest,
        f"{MASTER}; unload; rmmod litepcie; echo 1 >$card/enable; printf '\\7\\0\\0\\0' >/tmp/on",
        f"run() {{ stress poke $card/resource0 {STATUS} /tmp/on; ask count; }}",
        "run; insmod /lib/modules/litepcie.ko; ask count",
        "rmmod litepcie; run; ask stick",
        "printf '\\6' | dd of=$card/config bs=1 seek=4 conv=notrunc 2>/dev/null; [ $(master) = 1 ]",
        "insmod /lib/modules/litepcie.ko; [ ! -e $card/driver ]; [ $(master) = 0 ]",
        "ask free; rmmod litepcie; echo 0 >$card/enable; insmod /lib/modules/litepcie.ko; load",
        WORKS,
    )
    log = found["dmesg"].decode()
    assert [counted["net"]["status"] for counted in COUNTED[-3:]] == [7, 0, 7]
    assert "virtio device 0 does not end its reset (status 0x7): the card is not driven" in log


def test_a_device_that_does_not_stop_when_the_card_wakes_up_costs_bus_mastering(guest):
    """If a virtio device runs when the card wakes up, and does not end its reset, the driver gives
    the card up. The card stayed a bus master while it slept, and is none then. A reset of the card
    makes it work again."""
    found, _ = step(
        guest,
        f"{MASTER}; unload; printf '\\7\\0\\0\\0' >/tmp/on",
        f"stress poke $card/resource0 {STATUS} /tmp/on; ask stick; [ $(master) = 1 ]",
        "! insmod /litepcie_sleep.ko 2>/dev/null; [ $(master) = 0 ]",
        "ask free; echo 1 >$card/reset || true; [ $(master) = 1 ]; load",
        WORKS,
    )
    assert "(status 0x7): the card is not driven" in found["dmesg"].decode()


def test_virtio_mmio_drives_the_same_page(guest):
    """The kernel's own virtio_mmio, which was written for others, drives the net device by the same
    register page."""
    _, stats = step(
        guest,
        "rmmod litepcie_virtio litepcie",
        "for module in /mmio/*virtio_mmio.ko; do insmod $module; done",
        f"insmod /mmio/*litepcie_mmio.ko page={virtio_card.NET} causes={CAUSES} "
        f"enable={made_up_blocks.INTERRUPTS_AT}",
        "for n in $(seq 50); do [ -d /sys/class/net/eth0 ] && break; sleep 0.1; done",
        "readlink -f /sys/class/net/eth0/device | grep -q virtio-mmio",
        "ip link set eth0 up; ip addr add 10.0.0.1/24 dev eth0; pinged 10",
        "rmmod litepcie_mmio virtio_mmio; insmod /lib/modules/litepcie.ko; load",
        WORKS,
    )
    assert stats["net"]["broken"] == 0


def test_behind_an_iommu_both_devices_work(behind_iommu):
    """Behind an IOMMU every frame and every console line comes back. The card accesses no memory
    that is not mapped for it, neither while litepcie_virtio.ko is unloaded under traffic nor
    afterwards."""
    _, stats = step(
        behind_iommu,
        "[ -e $card/iommu_group ]; echoed first; pinged 20",
        "busy; unload; load; ready; sleep 0.3; echo 1 >$card/remove; echo 1 >/sys/bus/pci/rescan",
        "idle",
        WORKS,
    )
    assert stats["unmapped"] == 0


def test_rings_above_4_gib_are_found(with_far_memory):
    """If the kernel has put the rings above 4 GiB, both devices work, since the transport gives the
    card the upper halves of the addresses, too."""
    _, stats = step(with_far_memory, "echoed first; pinged 10")
    assert stats["net"]["far"] == stats["console"]["far"] == 2, stats
    assert stats["unmapped"] == 0


def test_with_msix_each_queue_has_a_vector(with_msix):
    """With MSI-X each queue in use has an interrupt with the queue's name, and no register is read
    to handle it. virtio_net has said which processor is to take the interrupts of its queues. An
    entry of the capability table whose causes are taken is left out with a sentence."""
    commands = [
        *UP,
        "echoed first; cat /proc/interrupts >/out/irq",
        "for irq in $(awk -F: '/put[.]0$/ {print $1 + 0}' /proc/interrupts); do",
        "cat /proc/irq/$irq/affinity_hint; done >/out/hints",
    ]
    found = with_msix.run(commands, then="")
    assert b"entry for virtio device 2 is not valid: this device is not used" in found["dmesg"]
    before = step(with_msix)[1]
    for name in ("input", "output"):
        assert f"-{name}".encode() in found["irq"], found["irq"].decode()
    assert found["hints"].split() == [b"1", b"1"]
    after = step(with_msix, "pinged 40; echoed second")[1]
    print(before, after)
    # The console's reads are counted, too: each line that is sent costs one.
    assert after["messages"] - before["messages"] >= 40
    assert after["reads"] - before["reads"] <= 10
