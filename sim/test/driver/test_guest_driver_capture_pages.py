# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The pages of a capture's ring in a guest with two NUMA nodes. The card is at node 1, and the
guest's processor at node 0."""

import re

import pytest

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.guest import run
from sim.test.driver.driver_guest import PINNED
from sim.test.driver.live_guest import LiveGuest
from sim.test.driver.test_guest_driver_capture import IOMMU, NODE, RECORDED
from sim.test.driver.test_guest_driver_queues import QUEUES

pytestmark = pytest.mark.guest

# MiB of memory of each node. QEMU puts the memory of node 0 below 2 GiB, and that of node 1 from 4
# GiB on. So node 1 has a page of 1 GiB, and room for smaller pages.
NEAR, FAR = 2048, 1280
KERNEL = ("intel_iommu=on", "hugepagesz=1G", "hugepages=1:1", "nokaslr")
PAGES = "/sys/devices/system/node/node{}/hugepages/hugepages-{}kB/{}_hugepages"
# Pages of 2 MiB that each node has in the test of such pages: twice as many as the ring needs.
SMALLER = 16


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    headers = artefacts.build(DEFAULT, capture=QUEUES).headers
    files = [(artefacts.capture_tool(headers, static=True), "bin/lanebox-capture")]
    sizes = {"memory": NEAR + FAR, "node": 1, "node_memory": FAR}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "PLACE", tmp_path_factory.mktemp("guest"))
        with LiveGuest(
            (), ("capture",), files, capture=QUEUES, devices=IOMMU, append=KERNEL, **sizes
        ) as live:
            yield live


def ring_of(maps):
    """Return {node: number of pages} of the ring, and the size of these pages in KiB. `maps` is the
    text of the recorder's /proc/PID/numa_maps: the recorder prefers a node for its ring alone."""
    (line,) = (line for line in maps.decode().splitlines() if " prefer" in line)
    print(line)
    nodes = {int(node): int(pages) for node, pages in re.findall(r" N(\d+)=(\d+)", line)}
    return nodes, int(re.search(r"kernelpagesize_kB=(\d+)", line)[1])


def recorded(guest, ring, *before):
    """Run the commands `before` in the guest, and record into a ring with the options `ring`.
    Returns the files that the commands leave."""
    commands = [PINNED + RECORDED, *before, f"ring='{ring}'"]
    commands += ["recorded 'cat /proc/$user/numa_maps >/out/maps'", f"capture small {NODE}"]
    return guest.run(commands)


def test_a_ring_lies_in_one_page_of_1_gib(guest):
    """A ring of 1 GiB is one page of 1 GiB at the card's node, behind an IOMMU, too. Afterwards the
    page is free again."""
    free = PAGES.format(1, 1 << 20, "free")
    files = recorded(guest, "1G --pages 1G", f"cat {free} >/out/free")
    assert files["free"] == b"1\n"
    assert ring_of(files["maps"]) == ({1: 1}, 1 << 20)
    assert guest.run([f"cat {free} >/out/free"])["free"] == b"1\n"


def test_a_ring_of_2_mib_pages_is_at_the_card_s_node(guest):
    """If both nodes have free pages of 2 MiB, all pages of the ring are at the card's node."""
    reserve = [f"echo {SMALLER} >{PAGES.format(node, 2048, 'nr')}" for node in (0, 1)]
    files = recorded(guest, "16M --pages 2M", *reserve)
    assert ring_of(files["maps"]) == ({1: 8}, 2048)
    guest.run([f"echo 0 >{PAGES.format(node, 2048, 'nr')}" for node in (0, 1)])


def test_a_ring_of_ordinary_memory_is_at_the_card_s_node(guest):
    """Without reserved pages the ring's memory is at the card's node, although the program runs at
    the other one."""
    nodes, _ = ring_of(recorded(guest, "16M")["maps"])
    assert nodes == {1: 16 << 20 >> 12}
