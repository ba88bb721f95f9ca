# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of litepcie_util in a guest, behind the driver and through VFIO: its reports describe that
guest."""

import json
from importlib.metadata import version

import pytest

from sim import artefacts
from sim.board.process import BoardProcess
from sim.guest import run
from sim.rows.measure import Conditions
from sim.test.util.user_guest import IOMMU, boot

pytestmark = [pytest.mark.guest, pytest.mark.soak]

MPS, MRRS = 256, 512
# PCI addresses of the card and of its root port, which are attached to the second NUMA node
CARD, PORT = "0000:41:00.0", "0000:40:00.0"
PLACE = f"/sys/bus/pci/devices/{CARD}"
UTIL = "litepcie_util --json"
VFIO = f"{UTIL} -d vfio:{CARD}"
# Shell text for a guest: it runs dma_test behind the driver, and stops and continues it again and
# again.
LATE = f"""
rm -f /tmp/done
({UTIL} dma_test --direction both --size 8M >/out/late || true; touch /tmp/done) &
while [ ! -e /tmp/done ]; do
	user=$(pidof litepcie_util) && kill -STOP $user || user=
	sleep 0.3
	[ "$user" ] && kill -CONT $user
	sleep 0.3
done
"""
COMMANDS = [
    f"cat {PLACE}/iommu_group/type {PLACE}/numa_node /proc/sys/kernel/osrelease >/out/facts",
    f"{UTIL} list >/out/list; {UTIL} doctor --look >/out/look",
    f"{UTIL} dma_bench --slot --direction c2h --size 4M >/out/driven_slot",
    f"{UTIL} mmio_bench --all --count 1 >/out/mmio; {UTIL} latency --count 3 >/out/driven",
    f"{UTIL} vfio status {CARD} >/out/before; {UTIL} vfio bind {CARD} >/out/bind",
    f"readlink {PLACE}/driver | grep -q vfio-pci; [ ! -e /dev/litepcie0 ]",
    f"{UTIL} vfio status {CARD} >/out/bound",
    f"{VFIO} dma_bench --slot --direction c2h --size 4M >/out/vfio_slot",
    f"{VFIO} doctor >/out/doctor; {VFIO},type1 latency --count 2 >/out/latency",
    f"{UTIL} vfio unbind {CARD} >/out/unbind; [ -e /dev/litepcie0 ]",
    f"{UTIL} vfio status {CARD} >/out/after; {UTIL} info >/dev/null",
    LATE,
]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Boot one guest with two NUMA nodes, and run litepcie_util's commands in COMMANDS there. The
    card is at the node without a CPU. Returns {file: the report in the file}. The entry "facts" has
    the type of the card's IOMMU group, the card's NUMA node and the kernel's release."""
    built = artefacts.build("lanebox")
    util = artefacts.utility(built.headers, static=True)
    options = Conditions(mps=MPS, mrrs=MRRS).board_options()
    with pytest.MonkeyPatch.context() as patch, BoardProcess(built.board, options) as board:
        patch.setattr(run, "PLACE", tmp_path_factory.mktemp("guest"))
        files = boot(
            board,
            COMMANDS,
            files=[(util, "bin/litepcie_util")],
            guest=run.prepare(),
            append=("intel_iommu=on",),
            devices=IOMMU,
            node=1,
            mps=MPS,
            mrrs=MRRS,
            timeout=300,
        ).files
    facts = files["facts"].decode().split()
    texts = {n: data for n, data in files.items() if data.lstrip().startswith(b"{")}
    return {"facts": facts, **{name: json.loads(text) for name, text in texts.items()}}


# {name: (options of the board, options of the guest, keys of doctor's findings, words of the
# finding)}
PLANTED = {
    "payload": (
        ("--mps", "128"),
        {"mps": 128},
        {"mps"},
        "payload (MPS) is 128 bytes: c2h gets at most 6.40 GB/s, with 256 bytes 7.11",
    ),
    "width": (
        ("--link-width", "4"),
        {},
        {"link"},
        "the link is Gen3 x4, and the card can do Gen3 x8: c2h gets at most 3.56 GB/s",
    ),
    "translation": (
        (),
        {"append": ("intel_iommu=on",), "devices": IOMMU},
        {"iommu"},
        "the IOMMU translates every address (DMA",
    ),
    "none": ((), {"append": ("intel_iommu=on", "iommu=pt"), "devices": IOMMU}, set(), ""),
}


@pytest.mark.parametrize("name", PLANTED)
def test_doctor_names_what_was_planted_in_a_guest(tmp_path, monkeypatch, name):
    """Behind the driver, doctor names exactly what was planted: link width, MPS or the IOMMU's
    mode.

    A guest that gets too little CPU time is a slow host, so doctor may report the host as well.
    """
    options, choices, wanted, words = PLANTED[name]
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    built = artefacts.build("lanebox")
    util = artefacts.utility(built.headers, static=True)
    with BoardProcess(built.board, [*Conditions().board_options(), *options]) as board:
        text = boot(
            board,
            [f"{UTIL} doctor >/out/doctor"],
            files=[(util, "bin/litepcie_util")],
            vfio=False,
            **choices,
        ).files["doctor"]
    report = json.loads(text)
    found = {f["key"]: f["what"] for f in report["findings"] if f["weight"] != "note"}
    assert found.keys() - {"host"} == wanted, report["findings"]
    assert not words or any(words in what for what in found.values()), found


def rows(report):
    return {row["id"]: row for row in report["rows"]}


def finding(report, key):
    return next(f for f in report["findings"] if f["key"] == key)


@pytest.mark.parametrize("way, driver", [("look", "litepcie"), ("doctor", "vfio-pci")])
def test_doctor_describes_the_machine(said, way, driver):
    """doctor's path, sizes, link, IOMMU, kernel and driver are those of the guest. That the card is
    at the far NUMA node is a finding."""
    iommu, node, kernel = said["facts"]
    report = said[way]
    card, port = report["path"]
    assert (card["address"], port["address"]) == (CARD, PORT)
    assert (card["mps_bytes"], card["mrrs_bytes"], card["rcb_bytes"]) == (MPS, MRRS, 64)
    assert (card["link_gen"], card["link_lanes"]) == (3, 8)
    assert port["mps_bytes"] == 128  # the largest MPS that QEMU's root port supports
    assert (report["iommu"], report["kernel"], report["driver"]) == (iommu, kernel, driver)
    if way == "look":
        assert report["driver_version"] == version("lanebox")
    assert (report["card_node"], report["cpu_node"]) == (1, 0)
    assert (
        node == "1"
        and "at node 1 and this program ran on node 0" in (finding(report, "numa")["what"])
    )
    costs = {f["key"] for f in report["findings"] if f["weight"] != "note"}
    assert costs == {"iommu", "numa"}, report["findings"]


@pytest.mark.parametrize("way", ["driven_slot", "vfio_slot"])
def test_what_the_user_slot_does_is_told_behind_each_driver(said, way):
    """The user slot's registers can be read behind the driver and through VFIO. A wait for logic
    that sends nothing ends with a reason from these registers."""
    (row,) = said[way]["rows"]
    assert row["value"] is None and row["id"] == "user/c2h"
    assert "c2h: the user slot has held source.valid low for" in row["reason"]
    assert row["reason"].endswith("(0 beats so far); 256 buffers wait")
    assert set(said["look"]["slot"]["h2c"]) >= {"valid", "ready", "beats", "stall_cycles"}


def test_doctor_measures_through_vfio(said):
    """Through VFIO in a guest, the card reaches the limits of link and interface, as it does on the
    board alone."""
    found = rows(said["doctor"])
    assert {name: row["binds"] for name, row in found.items()} == {
        "c2h": "interface",
        "h2c": "wire",
        "duplex": "interface",
    }
    assert all(0.95 < row["value"] / row["limit"] <= 1.01 for row in found.values())
    assert said["doctor"]["round_trip_ns"] == pytest.approx(600, abs=20)


def test_a_late_program_loses_nothing(said):
    """While the program dma_test is stopped, the card waits for it: every buffer is compared and
    right."""
    report = said["late"]
    assert report["ok"] and report["failures"] == []
    for way in ("c2h", "h2c"):
        assert report[way]["compared_bytes"] == report[way]["moved_bytes"] == 8 << 20


def test_mapped_accesses_are_as_fast_as_a_mapping_allows(said):
    """Accesses through a mapping of the BAR take as many round trips as their width needs. A row
    without a value says why.

    Behind QEMU at most 8 bytes travel at once, so a wider load takes several round trips. A call
    for each word, and a load through the mapping, both wait for one answer at a time.
    """
    assert said["mmio"]["mmio_path"] == "bar"
    found = rows(said["mmio"])
    trip = found["read_access/4"]["access_ns"]
    assert trip == pytest.approx(745, abs=30)
    for name, words in {
        "read_mapped/4": 1,
        "read_mapped/8": 1,
        "read_access/16": 2,
        "read_access/32": 4,
        "read_call/64": 16,
    }.items():
        row = found[name]
        assert row["access_ns"] == pytest.approx(words * trip, rel=0.1), name
        assert row["binds"] == "one read in flight"
    # Depending on the C library, memcpy() of 4096 bytes loads words of 8 bytes (512 round trips) or
    # copies single bytes (4096 round trips).
    assert 512 * 0.9 < found["read_memcpy/4096"]["access_ns"] / trip < 4096 * 1.1
    # The rate of these MMIO writes is limited by the guest's own stores.
    for size in (4, 8):
        assert found[f"write_mapped/{size}"]["binds"] == "the host's own stores"
    for row in found.values():
        assert (row["value"] is None) == bool(row["reason"]), row


def test_latency_behind_the_driver_is_that_of_packets(said):
    """Behind the driver, latency is measured with packets, since descriptors belong to the driver.
    Through VFIO all rows are measured.

    A packet takes nearly as long either way: three register writes by the host, and then the card's
    work up to the record.
    """
    driven, found = rows(said["driven"]), rows(said["latency"])
    for name, row in driven.items():
        assert (row["value"] is None) == name.startswith("interrupt/"), row
        assert row["value"] or "vfio bind" in row["reason"]
    for end in ("interrupt", "dma"):
        medians = [found[f"{end}/{64 << n}"]["value"] for n in range(7)]
        assert medians == sorted(medians) and 600 < medians[0] < medians[-1] < 5000
    for name in (f"dma/{64 << n}" for n in range(7)):
        assert driven[name]["value"] == pytest.approx(found[name]["value"], rel=0.2)
    print({name: (driven[name]["value"], row["value"]) for name, row in found.items()})


def test_vfio_binds_and_gives_back(said):
    """Each report of `litepcie_util vfio` names the driver that has the card at that moment, and
    whether VFIO can open it."""
    states = [
        (said[name]["driver"], said[name]["ready"])
        for name in ("before", "bind", "bound", "unbind", "after")
    ]
    assert states == [
        ("litepcie", False),
        ("vfio-pci", True),
        ("vfio-pci", True),
        ("litepcie", False),
        ("litepcie", False),
    ]
    assert said["before"]["findings"] == [] and said["before"]["node"].startswith("/dev/vfio/")
    assert [c["open_as"] for c in said["list"]["cards"]] == ["/dev/litepcie0"]
