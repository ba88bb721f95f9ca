# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Debian's virtio_net and virtio_console drive the gateware's virtio devices. Frames go through the
card to the echo behind the net device, and come back. The card has a capture block, too, which can
record them.

All tests of a kernel run in one guest.
"""

import json
import re

import pytest

from gateware import numbers
from gateware.numbers import CAPTURE_NET_PORT, PCAPNG_INBOUND, PCAPNG_OUTBOUND
from gateware.test.capture.test_capture_file import run
from sim import artefacts
from sim.endpoints import DEFAULT
from sim.guest import kernel as guest_kernel
from sim.guest import net_programs
from sim.test.board.board_builds import build_executable, register_map
from sim.test.board.board_process import WatchedBoard
from sim.test.driver.driver_guest import CONFUSED, WITH_WRONG_CAUSES, WITHOUT, kernels, variant
from sim.test.driver.live_guest import LiveGuest
from sim.test.virtio.virtio_guest import SHELL, check_quiet, files
from tools.testing.seeds import SHIFT

pytestmark = pytest.mark.guest
KERNELS = [None, *(pytest.param(series, marks=pytest.mark.soak) for series in kernels()[1:])]
STATISTICS = "/sys/class/net/eth0/statistics"
FEATURES = "/sys/class/net/eth0/device/features"  # a 0 or 1 for each feature bit that was agreed on
MERGED_BUFFERS = 15  # number of the feature bit VIRTIO_NET_F_MRG_RXBUF (VirtIO 1.2, 5.1.3)
RING_RESET = 40  # number of the feature bit VIRTIO_F_RING_RESET (VirtIO 1.2, 6)
COUNTS = ("tx_packets", "rx_packets", "tx_bytes", "rx_bytes", "rx_errors", "rx_dropped")
# Shell functions: `counts FILE` writes the kernel's counts of frames and bytes, and `alone` keeps
# the kernel from sending frames of its own, which nobody would answer.
FUNCTIONS = f"""
counts() {{ for name in {" ".join(COUNTS)}; do cat {STATISTICS}/$name; done >/out/$1; }}
alone() {{ echo 1 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6; sleep 0.2; }}
"""
UP = [SHELL, FUNCTIONS, "load; ready; alone"]


BUILD = dict(capture=True, virtio=True)


def board():
    options = ["--seed", str(SHIFT + 1)]
    return WatchedBoard(build_executable(**BUILD), register_map(**BUILD), options, None)


def recorder():
    """Return the file lanebox-capture, for a guest, and its place there."""
    tool = artefacts.capture_tool(artefacts.build(DEFAULT, **BUILD).headers, static=True)
    return tool, "bin/lanebox-capture"


@pytest.fixture(scope="module", params=KERNELS, ids=lambda series: series or "default")
def guest(request):
    confused = variant(guest_kernel.ensure(request.param), "causes"), CONFUSED[1:]
    within = [*files(request.param), confused, recorder(), *net_programs.ensure()]
    with LiveGuest(files=within, board=board, kernel=request.param) as guest:
        yield guest


def step(guest, *commands):
    """Run commands in the guest. Fail if the kernel log has a complaint. Returns the files of
    /out."""
    found = guest.run([*UP, *commands], then="")
    check_quiet(found)
    return found


def changes(found):
    """Return by how much each count of the kernel has grown between `counts before` and `counts
    after`."""
    before, after = (map(int, found[name].split()) for name in ("before", "after"))
    return dict(zip(COUNTS, (new - old for old, new in zip(before, after))))


def test_virtio_net_and_virtio_console_drive_the_card(guest):
    """Both drivers bind. The interface has the card's MAC address and MTU, and the console works
    beside it. virtio_net offers the buffers that it has for merging."""
    found = step(
        guest,
        "for device in /sys/bus/virtio/devices/*; do basename $(readlink -f $device/driver); done "
        ">/out/drivers",
        "cd /sys/class/net/eth0; cat address mtu carrier >/out/net",
        f"cat {FEATURES} >/out/features",
        "echoed first",
    )
    assert found["features"].decode()[MERGED_BUFFERS] == "1"
    assert sorted(found["drivers"].split()) == [b"virtio_console", b"virtio_net"]
    mac = f"{numbers.VIRTIO_MAC:012x}"
    mac = ":".join(mac[n : n + 2] for n in range(0, 12, 2))
    assert found["net"].decode().split() == [mac, str(numbers.VIRTIO_MTU), "1"]


def test_pings_come_back_and_the_counts_agree_to_the_frame(guest):
    """The card's net device answers 40 pings of 1400 bytes, and one of 4000 bytes in fragments. The
    kernel has received as many frames and bytes as it has sent, since the card answers each frame
    with one of the same length."""
    found = step(
        guest,
        "counts before; pinged 40",
        "ping -q -c 1 -s 4000 -W 20 10.0.0.3 >/out/large; sleep 0.2; counts after",
    )
    assert b" 0% packet loss" in found["large"]
    change = changes(found)
    assert change["tx_packets"] == change["rx_packets"] >= 40 + 3
    assert change["tx_bytes"] == change["rx_bytes"]
    assert change["rx_errors"] == change["rx_dropped"] == 0


def test_what_the_interface_sends_and_receives_is_recorded(guest, tmp_path):
    """`lanebox-capture record --net` records each of 40 pings and its answer, in the order of their
    times and with their directions, as Wireshark's programs read the file. Nothing is lost. A
    recording without --net has none of the frames."""
    recording, kept = "/out/net.pcapng", tmp_path / "net.pcapng"
    begin = "lanebox-capture record --ring 1M --json"
    found = step(
        guest,
        "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled",
        "started() { while [ ! -s $1 ]; do kill -0 $r; sleep 0.05; done; }",
        f"{begin} --net {recording} >/out/report & r=$!; started {recording}",
        "pinged 5; pinged 40; kill -INT $r; wait $r; lanebox-capture info --json >/out/info",
        f"{begin} /out/none.pcapng >/out/empty & r=$!; started /out/none.pcapng",
        "pinged 1; kill -INT $r; wait $r",
    )
    report, info, empty = (json.loads(found[name]) for name in ("report", "info", "empty"))
    kept.write_bytes(found["net.pcapng"])
    fields = ("frame.interface_id", "frame.packet_flags_direction", "icmp.type", "icmp.seq")
    lines = run("tshark", "-r", kept, "-T", "fields", *(f"-e{name}" for name in fields)).decode()
    pings = [line.split("\t") for line in lines.splitlines() if not line.endswith("\t")]
    outbound, inbound = (f"0x{way:08x}" for way in (PCAPNG_OUTBOUND, PCAPNG_INBOUND))
    for way, kind in ((outbound, "8"), (inbound, "0")):
        ours = [(port, what, seq) for port, direction, what, seq in pings if direction == way]
        # The recording may have begun behind the first pings of all.
        assert ours[-40:] == [(str(CAPTURE_NET_PORT), kind, str(n)) for n in range(40)], lines
    assert b"Strict time order:   True" in run("capinfos", "-o", "-M", kept)
    assert info["net_lost"] == 0 and report["packets"] == len(lines.splitlines())
    assert empty["packets"] == 0


def test_the_interface_goes_down_and_up_under_traffic(guest):
    """Three times the guest's network interface (virtio_net on the card) is taken down and up while
    pings and console traffic run. Pings and the console work afterwards."""
    step(
        guest,
        "busy; for n in 1 2 3; do ip link set eth0 down; sleep 0.1; ready; sleep 0.2; done; idle",
        "ready; pinged 10; echoed again",
    )


def rings(found, name="rings"):
    """Return the numbers of buffers that `ethtool -g` tells of the receive and transmit queues: the
    largest ones, and the present ones."""
    counts = re.findall(r"^(RX|TX):\s*(\d+)$", found[name].decode(), re.M)
    assert [way for way, _ in counts] == ["RX", "TX", "RX", "TX"]
    return [int(count) for _, count in counts]


def test_the_rings_get_other_sizes_under_traffic(guest):
    """`ethtool -G` gives the queues of the net device other sizes, ten times in a row, while a
    flood of pings, large pings and console traffic run. The kernel finds no corrupt packet. Then
    pings lose nothing, and the console works."""
    sizes = ("64 tx 64", "256 tx 32", "128 tx 256", "32 tx 128", "64 tx 64") * 2
    found = step(
        guest,
        f"cat {FEATURES} >/out/features",
        "flood() (set +e; while [ ! -e /tmp/idle ]; do ping -q -A -c 100 -W 1 10.0.0.3; done)",
        "busy; flood >/dev/null &",
        *(f"ethtool -G eth0 rx {size}; sleep 0.2" for size in sizes),
        "idle; ethtool -g eth0 >/out/rings; grep ^Icmp: /proc/net/snmp >/out/icmp",
        "counts before; pinged 40; ping -q -A -c 200 -W 20 10.0.0.2 >/out/flood",
        "sleep 0.2; counts after; echoed again; ethtool -G eth0 rx 256 tx 256",
        "pinged 10; ethtool -g eth0 >/out/last",
    )
    assert found["features"].decode()[RING_RESET] == "1"
    assert rings(found) == [256, 256, 64, 64] and rings(found, "last") == [256] * 4
    names, values = (line.split() for line in found["icmp"].decode().splitlines())
    icmp = dict(zip(names, values))
    assert icmp["InErrors"] == icmp["InCsumErrors"] == "0"
    assert b" 0% packet loss" in found["flood"]
    change = changes(found)
    assert change["tx_packets"] == change["rx_packets"] >= 240
    assert change["rx_errors"] == change["rx_dropped"] == 0


def test_the_transport_is_loaded_anew_under_traffic(guest):
    """While pings and console traffic run, litepcie_virtio.ko is unloaded and loaded again. Both
    virtio devices are reset by it and work afterwards."""
    step(
        guest, "busy; unload; load; ready; sleep 0.3; idle", "ready; alone; pinged 10; echoed again"
    )


def test_queues_are_looked_at_whatever_the_causes_are(guest):
    """With MSI the handler of an interrupt may find its cause already cleared, and causes of other
    queues set. Even if litepcie_virtio.ko is given the wrong causes, it misses no frame and no
    message of the console."""
    step(
        guest,
        f"unload; {WITH_WRONG_CAUSES}; load; ready; alone; pinged 20; echoed once; echoed again",
        f"unload; {WITHOUT}; load; ready; alone; pinged 1; echoed last",
    )


@pytest.mark.soak
def test_a_flood_of_pings_loses_nothing(guest):
    """`ping -A` sends 2000 pings of 56 bytes through the card's net device, each as soon as the one
    before is answered. No frame is lost."""
    found = step(
        guest,
        "counts before; ping -q -A -c 2000 -W 20 10.0.0.2 >/out/flood; sleep 0.2; counts after",
    )
    assert b" 0% packet loss" in found["flood"]
    change = changes(found)
    assert change["tx_packets"] == change["rx_packets"] >= 2000
