# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Debian's virtio drivers on the gateware behind an IOMMU, on a card that vanishes or that its slot
ejects, and by virtio_mmio.ko.

test_guest_virtio.py has the same events on a card in software. Here the simulated gateware has
requests out when they happen. Behind the net device is the wire, with a second network card of the
guest at its other end.

All tests of a machine run in one guest.
"""

import functools
import json
import re
import time

import pytest

from gateware import numbers
from gateware.virtio.device import virtio_devices
from sim import artefacts
from sim.endpoints import DEFAULT
from sim.guest import kernel as guest_kernel
from sim.guest import virtio, wire
from sim.guest.machine import card_arguments
from sim.test.board.board_process import WatchedBoard
from sim.test.driver.driver_guest import boot, kernels
from sim.test.driver.live_guest import LiveGuest
from sim.test.guest import guest_line
from sim.test.guest.guest_line import GuestLine
from sim.test.virtio.virtio_guest import SHELL, check_quiet, files
from tools.testing.seeds import SHIFT

pytestmark = [pytest.mark.guest, pytest.mark.soak]
ACCESS_PLATFORM = 33  # number of the feature bit VIRTIO_F_ACCESS_PLATFORM (VirtIO 1.2, 6)
FEATURES = "/sys/class/net/eth0/device/features"  # a 0 or 1 for each feature bit that was agreed on
IOMMU = ("-device", "intel-iommu,intremap=on,caching-mode=on")
ROUNDS = 2  # how often an event is repeated
WAYS = ("h2c", "c2h")
# A card is removed when so many frames have passed in each direction, at most so many seconds after
# the guest asks for it.
TRAFFIC_FRAMES, TRAFFIC_SECONDS = 20, 60
# Shell functions: `flood` does what `busy` does, and sends pings of full length both ways, each as
# soon as the one before is answered. `idle` ends all of it. `both N` sends N pings each way, one by
# one, all of which must be answered. They are sent without -A: if an answer takes more than a
# second, -A of busybox has two pings out from then on, and counts the last one as lost.
FLOOD = f"""
flooding() (
	set +e
	while [ ! -e /tmp/idle ]; do "$@" -q -A -c 50 -s 1400 -W 1; sleep 0.05; done
)
flood() {{
	busy
	for flow in 1 2 3; do
		flooding ping {wire.FAR} >/dev/null 2>&1 &
		flooding far ping {wire.NEAR} >/dev/null 2>&1 &
	done
	sleep 1
}}
both() {{
	for n in $(seq $1); do
		ping -q -c 1 -s 1400 -W 20 {wire.FAR} >/out/there
		far ping -q -c 1 -s 1400 -W 20 {wire.NEAR} >/out/back
	done
}}
"""
UP = [SHELL, FLOOD, "load; wire_up"]
# What both devices must still do after an event.
WORKS = "wire_up; echoed again; both 20"
# Shell function: `devices` prints how many virtio devices the card has.
DEVICES = "devices() { ls -l /sys/bus/virtio/devices | grep -c /0000:01:00.0/; }"
# How the driver lets go of a card that is gone.
LEAVES = (
    "echo 1 >$card/remove",
    "unload; rmmod litepcie; echo 1 >$card/remove",
    "echo 0000:01:00.0 >$driver/unbind; [ $(devices) = 0 ]; echo 1 >$card/remove",
)


def wired(path):
    """Return the path of the board whose net device has a wire, its register map, and the options
    with which the wire's socket is at `path`."""
    built = artefacts.build(DEFAULT, virtio=True, port="wire")
    csr = json.loads((built.gateware / "csr.json").read_text())
    return built.board, csr, ["--seed", str(SHIFT + 1), "--wire", f"listen:{path}"]


def placed(series):
    """Return the files for a guest with this kernel."""
    chosen = guest_kernel.ensure(series)
    return [*virtio.files(chosen), *wire.files(chosen), *files(series)]


def live(folder, series=None, devices=(), **choices):
    """Yield a guest with this kernel and these devices. Its card has the gateware, with the wire
    behind the net device."""
    executable, csr, options = wired(folder / "wire")
    with LiveGuest(
        files=placed(series),
        board=lambda: WatchedBoard(executable, csr, options, None),
        devices=(*wire.devices(folder / "wire"), *devices),
        kernel=series,
        **choices,
    ) as guest:
        yield guest


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    yield from live(tmp_path_factory.mktemp("wire"))


@pytest.fixture(scope="module", params=kernels(), ids=lambda series: series or "default")
def behind_iommu(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wire")
    yield from live(folder, request.param, IOMMU, append=("intel_iommu=on",))


def net_page():
    """Return the parameters with which litepcie_mmio.ko hands over the page of the net device."""
    _, net = virtio_devices(numbers.VIRTIO_NET_PAIRS)
    enable = wired("unused")[1]["csr_registers"]["pcie_msi_enable"]["addr"]
    causes = (2 << net.queues) - 1 << net.cause
    return f"page={net.base} causes={causes} enable={enable}"


def frames(board):
    """Return how many frames have gone over the wire so far in each direction."""
    return {way: count["frames"] for way, count in board.stats()["wire"].items() if way in WAYS}


def remove(board):
    """Remove the card. Fail if frames do not pass in both directions at that time."""
    before, latest = frames(board), time.monotonic() + TRAFFIC_SECONDS
    while min(now - before[way] for way, now in frames(board).items()) < TRAFFIC_FRAMES:
        assert time.monotonic() < latest, f"hardly a frame since {before}: {frames(board)}"
    board.command("fault remove")


def functions(board):
    """Return {name: function} for the guest's command `ask`."""
    insert = functools.partial(board.command, "fault insert")
    return {"remove": functools.partial(remove, board), "insert": insert}


def step(guest, *commands):
    """Run commands in the guest. Fail if the kernel log has a complaint, or if the card has broken
    a rule of the hard block or accessed memory that is not mapped for it. Returns the files of
    /out, and the frames that went over the wire in each direction meanwhile."""
    guest.run(UP, then="")
    before = frames(guest.board)
    found = guest.run([*UP, *commands], functions, then="")
    after = frames(guest.board)
    check_quiet(found)
    return found, {way: after[way] - before[way] for way in WAYS}


def check_vanishing(guest, leaves):
    """Let the card vanish under traffic, and the driver let go of it by the command `leaves`. When
    the card is back, the kernel must find it, and both devices must work."""
    found, _ = step(
        guest,
        f"{DEVICES}; [ $(devices) = 2 ]; flood; ask remove",
        f"if ping -q -c 2 -W 1 {wire.FAR}; then echo 'the card is there'; exit 1; fi",
        # virtio_console waits with interrupts off until a line is sent.
        "(console; for line in 1 2 3; do echo $line >&4; done)",
        f"{leaves}; [ $(devices) = 0 ]; [ ! -d /sys/class/net/eth0 ]; [ ! -e $card ]",
        "ask insert; echo 1 >/sys/bus/pci/rescan; [ -e $card ]",
        "[ -d /sys/module/litepcie ] || insmod /lib/modules/litepcie.ko",
        "load; sleep 0.3; idle; [ $(devices) = 2 ]",
        WORKS,
    )
    assert found["dmesg"].count(b"the card no longer answers") == 1


# Behind an IOMMU ----------------------------------------------------------------------------------


def test_behind_an_iommu_frames_and_console_lines_come_back(behind_iommu):
    """Behind an IOMMU that translates the card's addresses, pings of all sizes pass card and wire
    in both directions, and the console sends 16 KiB back."""
    found, frames = step(
        behind_iommu,
        "cat $card/iommu_group/type >/out/type",
        f"cat {FEATURES} >/out/features",
        "head -c 16384 /bin/busybox >/tmp/sent",
        "(console; cat /tmp/sent >&4 & head -c 16384 <&4 >/tmp/back; wait)",
        "cmp /tmp/sent /tmp/back",
        f"both 40; ping -q -c 3 -i 0.05 -s 4000 -W 20 {wire.FAR} >/out/large",
        f"ping -q -A -c 300 -W 20 {wire.FAR} >/out/small",
    )
    assert re.match(rb"DMA(-FQ)?$", found["type"]), found["type"]
    assert found["features"].decode()[ACCESS_PLATFORM] == "1"
    assert b" 0% packet loss" in found["large"], found["large"]
    assert b" 300 packets received" in found["small"], found["small"]
    assert min(frames.values()) >= 40 + 40 + 9 + 300


def test_behind_an_iommu_the_drivers_go_and_come_under_traffic(behind_iommu):
    """Under traffic litepcie_virtio.ko is unloaded, the interface goes down, the card is unbound,
    and it is removed by sysfs. After each of these the card accesses no memory any more, which the
    kernel has unmapped by then. In the end both devices work."""
    step(
        behind_iommu,
        f"for n in $(seq {ROUNDS}); do flood; unload; load; wire_up; sleep 0.3",
        "ip link set eth0 down; sleep 0.1; wire_up; sleep 0.3",
        "echo 0000:01:00.0 >$driver/unbind; [ ! -d /sys/class/net/eth0 ]",
        "echo 0000:01:00.0 >$driver/bind; wire_up; sleep 0.3; echo 1 >$card/remove",
        "echo 1 >/sys/bus/pci/rescan; sleep 0.3; idle; done",
        WORKS,
    )


def test_behind_an_iommu_a_card_that_vanishes_under_traffic_comes_back(behind_iommu):
    """Behind an IOMMU the card vanishes while frames pass in both directions and lines are sent on
    the console. Nothing hangs. The virtio devices go when the card is removed by sysfs, or unbound,
    or when the modules are unloaded. When the card is back, both devices work."""
    for leaves in LEAVES:
        check_vanishing(behind_iommu, leaves)


# Without an IOMMU ---------------------------------------------------------------------------------


def test_a_card_that_vanishes_under_traffic_comes_back(guest):
    """The same holds for a card that vanishes without an IOMMU."""
    for leaves in LEAVES:
        check_vanishing(guest, leaves)


def test_virtio_mmio_drives_the_same_page(guest):
    """The kernel's own virtio_mmio.ko, which was written for others, drives the net device of the
    gateware by the same register page. Pings pass card and wire both ways, before and after a flood
    of them. When virtio_mmio.ko has left the page, our transport drives it again."""
    found, frames = step(
        guest,
        "rmmod litepcie_virtio litepcie",
        "for module in /mmio/*virtio_mmio.ko; do insmod $module; done",
        f"insmod /mmio/*litepcie_mmio.ko {net_page()}",
        "for n in $(seq 50); do [ -d /sys/class/net/eth0 ] && break; sleep 0.1; done",
        "readlink -f /sys/class/net/eth0/device | grep -q virtio-mmio",
        "wire_up; both 40",
        f"ping -q -A -c 300 -W 20 {wire.FAR} >/out/small; flood; idle; both 20",
        "rmmod litepcie_mmio virtio_mmio; insmod /lib/modules/litepcie.ko; load",
        WORKS,
    )
    assert b" 300 packets received" in found["small"], found["small"]
    assert min(frames.values()) >= 40 + 40 + 300 + 20


# In guests of their own ---------------------------------------------------------------------------


def test_the_slot_ejects_a_card_under_traffic(tmp_path):
    """The guest's slot ejects the card on request (QEMU's device_del) while frames pass in both
    directions. The board loses its client, and the modules can be unloaded.

    The card is not put back, since QEMU 11.1.3 sometimes hangs then.
    """
    path = tmp_path / "wire"
    executable, csr, options = wired(path)
    with WatchedBoard(executable, csr, options, None) as board, GuestLine({}) as line:
        card = json.loads(card_arguments(board.socket)[-1])
        line.functions["eject"] = functools.partial(line.qmp, "device_del", id=card["id"])
        commands = [
            *(guest_line.SHELL, *UP),
            "both 5; flood; ask eject; while [ -e $card ]; do sleep 0.05; done; idle",
            "[ ! -d /sys/class/net/eth0 ]; unload; rmmod litepcie",
            "! grep -q litepcie /proc/iomem",
        ]
        devices = (*line.devices, *wire.devices(path))
        result = boot(board, commands, None, (), placed(None), devices=devices)
        assert line.asked == ["eject"] and board.stats()["unmapped"] == 0
    check_quiet(result.files)
