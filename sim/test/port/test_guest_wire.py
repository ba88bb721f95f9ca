# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Debian's virtio_net drives the card, and a second network card of the same guest is at the other
end of the wire. Pings, TCP, UDP and the frames of a recording pass, and all counters agree to the
frame.

All tests run in one guest.
"""

import itertools
import json
import random
import re
import struct

import pytest

from gateware import numbers
from sim import artefacts
from sim.endpoints import DEFAULT
from sim.guest import kernel, virtio, wire
from sim.test.board.board_process import WatchedBoard
from sim.test.driver.live_guest import LiveGuest
from sim.test.port.wire_ends import SHORTEST
from sim.test.virtio.virtio_guest import check_quiet
from tools.testing.seeds import SHIFT

pytestmark = pytest.mark.guest
BYTES = 128 * 1024  # bytes of one transfer of iperf3 over the wire
# Sizes of iperf3's writes and of TCP's windows. The receiver stops when the sender has given its
# bytes to the kernel, so a window at the most is missing in what it has counted.
SMALL = "-l 4K -w 16K"
BEHIND = 2  # the most sent frames whose buffers a queue's driver has not taken back yet
STREAMS = 16  # of one transfer by both pairs of queues: the kernel spreads them over the pairs
MTU = numbers.VIRTIO_MTU
# The Ethernet header of a broadcast frame of IPv4.
HEADER = b"\xff" * 6 + bytes([2, 0, 0, 0, 0, 1]) + b"\x08\x00"
RECORDING, FRAMES = "lib/frames.pcap", 300  # what tcpreplay sends, and how many frames it has
# Shell functions: `counts FILE` writes what ethtool and the kernel have counted on both sides.
# `served` starts iperf3's server on the far side, for one client. `known` tells both ends each
# other's address, so that no ARP is sent between the looks at the counters.
FUNCTIONS = """
statistics() {
	for name in tx_packets rx_packets rx_errors rx_dropped; do
		echo "$name: $(cat /sys/class/net/$1/statistics/$name)"
	done
}
counts() {
	{ ethtool -S eth0; statistics eth0; } >/out/near-$1
	{
		far ethtool -S eth1
		far sed -n 's/^ *eth1: *//p' /proc/net/dev | {
			read -r _ received _ _ _ _ _ _ _ sent _
			echo "rx_packets: $received"
			echo "tx_packets: $sent"
		}
	} >/out/far-$1
}
known() {
	. /lib/wire
	arp -s $far $far_mac
	far arp -s $near $near_mac
}
served() {
	far iperf3 -4 -s -1 >/dev/null &
	far sh -c 'until grep -q :1451 /proc/net/tcp; do sleep 0.1; done'
}
"""


def recording() -> bytes:
    """Return a pcap file of FRAMES frames of random sizes. No kernel answers them, since their IP
    headers are zeros."""
    draw = random.Random(SHIFT)
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 16, 1)]
    for n in range(FRAMES):
        data = draw.choice([SHORTEST - len(HEADER), MTU, draw.randint(SHORTEST, MTU)])
        frame = HEADER + bytes(data)
        size = len(frame)
        parts += [struct.pack("<IIII", 0, n, size, size), frame]
    return b"".join(parts)


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    path = tmp_path_factory.mktemp("wire") / "wire"
    built = artefacts.build(DEFAULT, virtio=True, port="wire")
    csr = json.loads((built.gateware / "csr.json").read_text())
    options = ["--seed", str(SHIFT + 1), "--wire", f"listen:{path}"]
    chosen = kernel.ensure()
    with LiveGuest(
        files=[*virtio.files(chosen), *wire.files(chosen), (recording(), RECORDING)],
        board=lambda: WatchedBoard(built.board, csr, options, None),
        devices=wire.devices(path),
    ) as guest:
        yield guest


def step(guest, *commands):
    """Run commands in the guest between two looks at all counters. Returns the files of /out, and
    by how much each counter has grown."""
    guest.run(["wire_up", FUNCTIONS, "known; sleep 0.5"], then="")
    before = guest.board.stats()["wire"]
    found = guest.run([FUNCTIONS, "counts before", *commands, "sleep 1; counts after"], then="")
    after = guest.board.stats()["wire"]
    check_quiet(found)
    return found, Growth(found, before, after)


class Growth:
    """By how much the counters have grown: those of the card's driver, of the wire, and of the
    driver of the second card."""

    def __init__(self, found, before, after):
        near, far = (
            {
                name: count - _counts(found[f"{side}-before"])[name]
                for name, count in _counts(found[f"{side}-after"]).items()
            }
            for side in ("near", "far")
        )
        self.near, self.far = near, far
        self.h2c, self.c2h = (
            {name: after[way][name] - before[way][name] for name in after[way]}
            for way in ("h2c", "c2h")
        )

    def queues(self, way):
        """Return the packets of each queue `way` (rx, tx) of the card's net device."""
        return queue_packets(self.near, way)

    @property
    def dropped(self):
        """Return how many frames from the wire the net device has dropped, since its engine is
        slower than the line."""
        return self.c2h["frames"] - self.near["rx_packets"]

    def check(self, least, dropped=0):
        """Check that at least `least` frames went each way, and that no device but the card's net
        device lost a frame. The net device dropped `dropped` frames of the wire.

        A driver has received each frame that the wire has carried. It counts a frame that it has
        sent when it takes its buffer back, which may be when it sends the next one of that queue.
        """
        behind = BEHIND * max(1, len(self.queues("tx")))
        assert self.near["rx_packets"] >= least and self.dropped == dropped
        assert self.far["rx_packets"] == self.h2c["frames"] >= least
        assert abs(self.near["tx_packets"] - self.h2c["frames"]) <= behind
        assert abs(self.far["tx_packets"] - self.c2h["frames"]) <= BEHIND
        # Linux 6.1 also counts packets of each queue for ethtool. Linux 6.12 does not.
        for end, way in itertools.product((self.near, self.far), ("rx", "tx")):
            counted = queue_packets(end, way)
            assert not counted or sum(counted) == end[f"{way}_packets"]
        assert self.near["rx_errors"] == self.near["rx_dropped"] == 0
        lost = ("no_peer", "full", "bad"), ("too_long", "cut", "waiting")
        assert not any(self.h2c[name] for name in lost[0])
        assert not any(self.c2h[name] for name in lost[1])


def queue_packets(counts, way):
    """Return the packets of each queue `way` (rx, tx), if the kernel counts them."""
    return [count for name, count in counts.items() if re.match(rf"{way}_queue_\d+_packets", name)]


def _counts(text):
    """Return {name: number} from the lines `name: number` of a text."""
    pairs = (line.split(":") for line in text.decode().splitlines() if line.count(":") == 1)
    return {name.strip(): int(value) for name, value in pairs if value.strip().isdigit()}


def test_pings_of_all_sizes_pass(guest):
    """Pings of 1400 bytes, of 1 byte and of 4000 bytes in fragments pass the wire, from the guest's
    virtio_net to the second network card or back. All of them are answered, and so is a flood of
    200 small pings."""
    found, growth = step(
        guest,
        f"ping -q -c 10 -i 0.05 -s 1400 -W 20 {wire.FAR} >/out/there",
        f"far ping -q -c 10 -i 0.05 -s 1 -W 20 {wire.NEAR} >/out/back",
        f"ping -q -c 3 -i 0.05 -s 4000 -W 20 {wire.FAR} >/out/large",
        f"ping -q -A -c 200 -W 20 {wire.FAR} >/out/flood",
    )
    for name in ("there", "back", "large", "flood"):
        assert b" 0% packet loss" in found[name], found[name]
    growth.check(10 + 10 + 9 + 200)


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_tcp_passes(guest, back):
    """iperf3 moves its bytes by TCP. The counters agree to the frame, with retransmitted ones. On
    the way to the card the net device may drop frames, as with datagrams. TCP sends them again."""
    found, growth = step(
        guest,
        "served",
        f"iperf3 -4 -c {wire.FAR} -n {BYTES} {SMALL} {'-R' if back else ''} --json >/out/iperf3",
        "wait",
    )
    end = json.loads(found["iperf3"])["end"]
    assert end["sum_sent"]["bytes"] >= BYTES and end["sum_received"]["bytes"] >= BYTES // 2
    print(f"{end['sum_received']['bytes']} bytes, {end['sum_sent']['retransmits']} retransmits")
    growth.check(40, growth.dropped if back else 0)


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_the_rings_get_other_sizes_under_tcp(guest, back):
    """`ethtool -G` gives the queues of the card's net device other sizes while iperf3 moves its
    bytes by TCP. Frames are lost only in the queues that are reset, and TCP sends them again."""
    found = guest.run(
        [
            "wire_up",
            FUNCTIONS,
            "known; served; rm -f /tmp/done",
            f"(iperf3 -4 -c {wire.FAR} -n {4 * BYTES} {SMALL} {'-R' if back else ''} --json "
            ">/out/iperf3; touch /tmp/done) &",
            "for size in 64 32 128 256; do ethtool -G eth0 rx $size tx $size; sleep 0.1; done",
            "[ ! -e /tmp/done ]; wait",
            f"ping -q -A -c 50 -W 20 {wire.FAR} >/out/flood",
        ],
        then="",
    )
    check_quiet(found)
    end = json.loads(found["iperf3"])["end"]
    assert end["sum_sent"]["bytes"] >= 4 * BYTES
    print(f"{end['sum_received']['bytes']} bytes, {end['sum_sent']['retransmits']} retransmits")
    assert b" 0% packet loss" in found["flood"]


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_udp_passes(guest, back):
    """iperf3 sends datagrams of 1400 bytes at 1 Mbit/s of the guest's clock. None is lost on the
    way from the card. On the way to the card, frames that have waited for a busy computer come one
    behind the other at the rate of the line. The net device may drop some of them, and a datagram
    that iperf3 misses is one of these."""
    found, growth = step(
        guest,
        "served",
        f"iperf3 -4 -c {wire.FAR} -u -b 1M -l 1400 -n {BYTES} {'-R' if back else ''} --json "
        ">/out/iperf3",
        "wait",
    )
    total = json.loads(found["iperf3"])["end"]["sum"]
    print(f"{total['packets']} datagrams, {total['lost_packets']} lost")
    assert total["packets"] >= BYTES // 1400
    assert 0 <= total["lost_packets"] <= growth.dropped
    growth.check(5, growth.dropped if back else 0)


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_a_recording_is_replayed(guest, back):
    """tcpreplay sends the frames of a recording as fast as the driver takes them, between the
    namespaces of both network cards. The kernel at the other end gets each of them. On the way to
    the card the net device may drop frames, and counts them."""
    start = "far tcpreplay -i eth1" if back else "tcpreplay -i eth0"
    found, growth = step(guest, f"{start} --topspeed /{RECORDING} >/out/replay 2>&1")
    assert f"Actual: {FRAMES} packets".encode() in found["replay"], found["replay"]
    taken, given = (growth.c2h, growth.near) if back else (growth.h2c, growth.far)
    dropped = growth.dropped if back else 0
    print(f"{dropped} frames dropped")
    assert taken["frames"] == FRAMES and given["rx_packets"] == FRAMES - dropped
    growth.check(0, dropped)


def channels(guest, count):
    """Activate `count` pairs of queues of the card's net device. Return what ethtool then says."""
    found = guest.run(
        [
            f"wire_up; [ $(ethtool -l eth0 | tail -n 1 | tr -dc 0-9) = {count} ] || "
            f"ethtool -L eth0 combined {count}; ethtool -l eth0 >/out/channels"
        ],
        then="",
    )
    check_quiet(found)
    return re.findall(r"^Combined:\s*(\d+)$", found["channels"].decode(), re.M)


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_two_pairs_of_queues_share_the_connections(guest, back):
    """After `ethtool -L eth0 combined 2` both pairs of queues carry frames in both directions, and
    the counters of the queues agree to the frame. What the driver receives of a connection comes to
    the pair by which it sends. With one pair again, all frames go by that pair."""
    assert channels(guest, 2) == ["2", "2"]
    way = "-R" if back else ""
    transfer = f"iperf3 -4 -c {wire.FAR} -n {BYTES} -P {STREAMS} {SMALL} {way} >/out/iperf3"
    _, growth = step(guest, "served", transfer, "wait")
    print(f"sent {growth.queues('tx')}, received {growth.queues('rx')}")
    growth.check(40, growth.dropped if back else 0)
    for way in ("rx", "tx"):
        counted = growth.queues(way)
        # Linux 6.1 counts packets of each queue. Linux 6.12 does not.
        assert not counted or (len(counted) == 2 and min(counted) > 5)
    assert channels(guest, 1) == ["2", "1"]
    _, growth = step(guest, f"ping -q -A -c 50 -W 20 {wire.FAR} >/out/flood")
    growth.check(50)
