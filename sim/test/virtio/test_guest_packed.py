# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Debian's virtio_net drives the gateware's net device with packed rings, and virtio_console its
console with split ones, on a card that offers both formats.

All tests of a kernel run in one guest.
"""

import pytest

from sim.guest import net_programs
from sim.test.board.board_builds import build_executable, register_map
from sim.test.board.board_process import WatchedBoard
from sim.test.driver.live_guest import LiveGuest
from sim.test.virtio.test_guest_net import FEATURES, KERNELS, changes, rings, step
from sim.test.virtio.virtio_guest import files
from tools.testing.seeds import SHIFT

pytestmark = pytest.mark.guest
RING_PACKED = 34  # number of the feature bit VIRTIO_F_RING_PACKED (VirtIO 1.2, 6)
CONSOLE = "/sys/bus/virtio/drivers/virtio_console/virtio*/features"


def board():
    options = ["--seed", str(SHIFT + 1)]
    built = build_executable(virtio=True, packed=True)
    return WatchedBoard(built, register_map(virtio=True, packed=True), options, None)


@pytest.fixture(scope="module", params=KERNELS, ids=lambda series: series or "default")
def guest(request):
    within = [*files(request.param), *net_programs.ensure()]
    with LiveGuest(files=within, board=board, kernel=request.param) as guest:
        yield guest


def test_the_net_device_has_packed_rings_and_the_console_split_ones(guest):
    """virtio_net and the card agree on packed rings. The transport chooses split ones for the
    console, which works beside it."""
    found = step(guest, f"cat {FEATURES} >/out/net; cat {CONSOLE} >/out/console", "echoed first")
    assert found["net"].decode()[RING_PACKED] == "1"
    assert found["console"].decode()[RING_PACKED] == "0"


def test_pings_come_back_and_the_counts_agree_to_the_frame(guest):
    """The card's net device answers 40 pings of 1400 bytes, and one of 4000 bytes in fragments. The
    kernel has received as many frames and bytes as it has sent."""
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


def test_a_flood_of_pings_goes_around_the_rings(guest):
    """`ping -A` sends 600 pings of 56 bytes, each as soon as the one before is answered, so that
    both rings of 256 descriptors wrap twice. No frame is lost."""
    found = step(guest, "ping -q -A -c 600 -W 20 10.0.0.2 >/out/flood")
    assert b" 0% packet loss" in found["flood"]


def test_packed_rings_get_other_sizes_under_traffic(guest):
    """`ethtool -G` gives the packed queues of the net device other sizes while pings and console
    traffic run. Then pings lose nothing, also around the new rings."""
    sizes = ("64 tx 64", "32 tx 128", "256 tx 32", "64 tx 64")
    found = step(
        guest,
        "busy",
        *(f"ethtool -G eth0 rx {size}; sleep 0.2" for size in sizes),
        "idle; ethtool -g eth0 >/out/rings; ping -q -A -c 200 -W 20 10.0.0.2 >/out/flood",
        "pinged 40; echoed again; ethtool -G eth0 rx 256 tx 256; pinged 10",
    )
    assert rings(found) == [256, 256, 64, 64]
    assert b" 0% packet loss" in found["flood"]


def test_the_transport_is_loaded_anew_under_traffic(guest):
    """While pings and console traffic run, litepcie_virtio.ko is unloaded and loaded again. Both
    virtio devices are reset by it and work afterwards."""
    step(
        guest,
        "busy; unload; load; ready; sleep 0.3; idle",
        "ready; alone; pinged 10; echoed again",
    )
