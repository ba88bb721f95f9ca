# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that `litepcie_util dma_bench` and `doctor` name what limits the card. The limits are
planted in the board or in the machine."""

import json
import os
import subprocess

import pytest

from sim import artefacts
from sim.board.process import BoardProcess
from sim.rows import limits
from sim.rows.measure import Conditions
from sim.test.board.board_builds import ROOT
from software.test.standin.sysfs_standin import Machine, config_space

CARD, PORT = "0000:02:00.0", "0000:00:01.0"


@pytest.fixture(scope="module")
def built():
    return artefacts.build("lanebox")


@pytest.fixture
def card(built):
    """Return a function that runs one command of litepcie_util on a board with the given options,
    and returns the command's JSON report."""

    def run(arguments, *options, **environment):
        at = Conditions().board_options()
        util = artefacts.utility(built.headers)
        with BoardProcess(built.board, [*at, *options]) as board:
            command = [util, "-d", f"sim:{board.socket}", "--json", *arguments]
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=120,
                env={"LITEPCIE_ROOT": "/nonexistent", **environment},
            )
        report = json.loads(done.stdout)
        assert done.returncode == 0 and report["ok"], report["failures"]
        return report

    return run


def rows(report):
    return {row["id"]: row for row in report["rows"]}


def keys(report, *weights):
    return {f["key"] for f in report["findings"] if f["weight"] in weights}


def finding(report, key):
    return next(f for f in report["findings"] if f["key"] == key)


# Limits in the board's link and host --------------------------------------------------------------


def test_a_whole_link_reaches_its_own_limits(card):
    """On a full link dma_bench names only wire and interface as limits, with ratios near 1. The
    round trip it measures is the board's 600 ns."""
    report = card(["dma_bench", "--size", "4M"])
    assert report["round_trip_ns"] == pytest.approx(600, abs=20)
    assert report["completion_bytes"] == 256
    assert {name: row["binds"] for name, row in rows(report).items()} == {
        "c2h": "interface",
        "h2c": "wire",
        "duplex": "interface",
    }
    assert all(0.97 < row["ratio"] <= 1.001 for row in rows(report).values())
    assert rows(report)["c2h"]["limit"] == pytest.approx(limits.c2h(256, 256).value)
    doctor = card(["doctor"])
    assert keys(doctor, "binds", "costs") == set()
    assert "7.42" in finding(doctor, "mps")["what"]  # GB/s that c2h would reach with MPS 512


@pytest.mark.parametrize(
    ("options", "key", "words", "bound"),
    [
        (
            ("--mps", "128"),
            "mps",
            "128 bytes: c2h gets at most 6.40 GB/s, with 256 bytes 7.11",
            {"c2h": "interface"},
        ),
        pytest.param(
            ("--link-width", "2"),
            "link",
            "Gen3 x2, and the card can do Gen3 x8",
            {"c2h": "wire", "h2c": "wire", "duplex": "wire"},
            marks=pytest.mark.soak,
        ),
        pytest.param(
            ("--link-gen", "1"), "link", "Gen1 x8", {"c2h": "wire"}, marks=pytest.mark.soak
        ),
        pytest.param(
            ("--read-latency", "9000"),
            "reads",
            "after 90",
            {"h2c": "reads in flight"},
            marks=pytest.mark.soak,
        ),
        pytest.param(
            ("--completion-size", "64"),
            "rcb",
            "boundary, of 64 bytes: h2c gets at most 5.93 GB/s, with pieces of 256 bytes 7.21",
            {"h2c": "wire"},
            marks=pytest.mark.soak,
        ),
        pytest.param(
            ("--write-stall", "50:500"),
            "host",
            "the host holds back the card's requests",
            {"c2h": "host"},
            marks=pytest.mark.soak,
        ),
    ],
    ids=["mps", "width", "generation", "latency", "completions", "stalls"],
)
def test_what_was_planted_is_what_binds(card, options, key, words, bound):
    """`doctor` names exactly the limit that the board's options have set, with its numbers and a
    remedy."""
    report = card(["doctor"], *options)
    assert keys(report, "binds") == {key}
    assert words in finding(report, key)["what"] and finding(report, key)["lift"]
    found = rows(report)
    assert {name: found[name]["binds"] for name in bound} == bound
    for name, binds in bound.items():
        share = 0.85 if binds == "reads in flight" else 0.95
        assert (found[name]["value"] > share * found[name]["limit"]) is (binds != "host")


# Limits in the machine around the card, by a made-up /sys
# ------------------------------------------


def build_machine(root, card=None, port=None, group="identity", **files):
    """Write the files of a made-up desktop in which nothing limits the card, except what the
    arguments change; returns the Machine."""
    machine = Machine(root)
    machine.add(
        PORT,
        vendor=0x8086,
        device=1,
        driver="pcieport",
        config=config_space(**{"mrrs": 128, **(port or {})}),
    )
    place = machine.add(
        CARD,
        driver="litepcie",
        group=7 if group else None,
        below=[PORT],
        config=config_space(**(card or {})),
        numa=-1,
    )
    machine.node(0, place)
    if group:
        machine.write("sys/kernel/iommu_groups/7/type", group + "\n")
    cpu = "sys/devices/system/cpu/cpu0"
    for name, text in {
        f"{cpu}/cpufreq/scaling_governor": "performance",
        f"{cpu}/cpuidle/state0/disable": "0",
        f"{cpu}/cpuidle/state0/name": "C1",
        f"{cpu}/cpuidle/state0/latency": "2",
        "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "64",
        "sys/module/litepcie/version": "1.2",
        **files,
    }.items():
        machine.write(name, text + "\n")
    return machine


def look(card, root, *options):
    arguments = ["doctor", "--look", "--address", CARD]
    return card(arguments, *options, LITEPCIE_ROOT=str(root))


def test_a_machine_that_costs_nothing_has_no_findings(card, tmp_path):
    """On an imitated machine without a wrong setting `litepcie_util doctor` has no finding. It
    reports the path from the card to the root port, the driver and the IOMMU."""
    build_machine(tmp_path)
    report = look(card, tmp_path)
    assert keys(report, "binds", "costs") == set()
    assert [step["address"] for step in report["path"]] == [CARD, PORT]
    assert [step["mrrs_bytes"] for step in report["path"]] == [512, 128]
    assert (report["iommu"], report["driver"], report["driver_version"]) == (
        "identity",
        "litepcie",
        "1.2",
    )
    assert (report["governor"], report["huge_pages"]) == ("performance", 64)
    assert rows(report)["c2h"]["value"] is None


CPU = "sys/devices/system/cpu/cpu0"
DEEP = {
    f"{CPU}/cpuidle/state1/{name}": text
    for name, text in {"disable": "0", "name": "C6", "latency": "133"}.items()
}
PLANTED = {
    "tags": ({"card": {"ext_tag": False}}, "of the card's 256 reads in flight 32"),
    "ordering": ({"card": {"relaxed": False}}, "relaxed ordering is off"),
    "path": ({"port": {"mps": 128}}, "0000:00:01.0 has an MPS of 128 and the card 256"),
    "iommu": ({"group": "DMA-FQ"}, "translates every address (DMA-FQ)"),
    "governor": ({f"{CPU}/cpufreq/scaling_governor": "powersave"}, "governor is powersave"),
    "cstates": (DEEP, "may sleep in C6, from which it wakes up in 133 us"),
}


@pytest.mark.parametrize("key", PLANTED)
def test_what_was_planted_around_the_card_is_named(card, tmp_path, key):
    """`doctor` names exactly the wrong setting of an imitated machine, with a remedy."""
    plant, words = PLANTED[key]
    build_machine(tmp_path, **plant)
    report = look(card, tmp_path)
    assert keys(report, "binds", "costs") == {key}
    assert words in finding(report, key)["what"] and finding(report, key)["lift"]


def test_a_port_that_qemu_makes_up_is_not_blamed(card, tmp_path):
    """doctor does not report MPS 128 and the link of a port that QEMU emulates: no TLP passes that
    port, and nobody could change it."""
    build_machine(tmp_path, port={"mps": 128, "mps_supported": 128, "possible": (1, 1)})
    (tmp_path / "sys/bus/pci/devices" / PORT / "vendor").write_text("0x1b36\n")
    report = look(card, tmp_path)
    assert keys(report, "binds", "costs") == set()
    assert PORT not in finding(report, "mps")["lift"]


def test_a_simulated_card_is_told_nothing_that_only_a_machine_has(card):
    """For a simulated card doctor suggests options of the board only, and nothing about a
    machine."""
    report = card(["doctor", "--look"])
    assert [f["key"] for f in report["findings"]] == ["mps"]
    assert finding(report, "mps")["lift"] == "start the board with MPS=512"


@pytest.mark.parametrize(
    "rcb, words",
    [
        (64, "boundary is 64 bytes: if the host cuts its answers there, h2c gets at most 5.93"),
        (128, "boundary is 128 bytes: if the host cuts its answers there, h2c gets at most 6.73"),
    ],
)
def test_where_the_host_may_cut_its_answers_is_noted(card, tmp_path, rcb, words):
    """`litepcie_util doctor` reports the read completion boundary in the root port's Link Control,
    and not that in the card's."""
    build_machine(tmp_path, port={"rcb": rcb}, card={"rcb": 192 - rcb})
    report = look(card, tmp_path)
    assert [step["rcb_bytes"] for step in report["path"]] == [192 - rcb, rcb]
    assert words in finding(report, "rcb")["what"] and keys(report, "binds", "costs") == set()


def test_a_card_for_four_lanes_misses_nothing_in_a_slot_of_four(card, tmp_path):
    """`litepcie_util doctor` has no finding for a card with four lanes in a slot of four, since it
    compares the link with the card's own width."""
    narrow = {"possible": (3, 4), "lanes": 4}
    build_machine(tmp_path, port=narrow, card=narrow)
    assert keys(look(card, tmp_path, "--link-width", "4"), "binds", "costs") == set()


def test_the_card_of_another_node_is_named(card, tmp_path):
    """`doctor` reports a card at another NUMA node than the CPU that runs the utility."""
    build_machine(tmp_path)
    for cpu in os.sched_getaffinity(0):
        (tmp_path / f"sys/devices/system/node/node0/cpu{cpu}").mkdir(parents=True)
    (tmp_path / "sys/bus/pci/devices" / CARD / "numa_node").write_text("1\n")
    report = look(card, tmp_path)
    assert keys(report, "binds", "costs") == {"numa"}
    assert "at node 1 and this program ran on node 0" in finding(report, "numa")["what"]


def test_the_slot_that_narrows_the_link_is_named(card, tmp_path):
    """If a bridge above the card narrows the link, or supports only a small MPS, the remedy that
    `litepcie_util doctor` prints names the bridge."""
    build_machine(
        tmp_path,
        port={"possible": (3, 4), "mps_supported": 128, "mps": 128},
        card={"mps": 128, "lanes": 4},
    )
    report = look(card, tmp_path, "--link-width", "4", "--mps", "128")
    assert keys(report, "binds") == {"link", "mps"}
    assert f"{PORT} can do Gen3 x4 only" in finding(report, "link")["lift"]
    assert f"{PORT} above the card supports no more than 128" in finding(report, "mps")["lift"]


def test_a_disabled_idle_state_does_not_cost(card, tmp_path):
    """An idle state of the CPU that is disabled is no finding of `litepcie_util doctor`. Missing
    huge pages are a note only."""
    files = {
        **DEEP,
        f"{CPU}/cpuidle/state1/disable": "1",
        "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "0",
    }
    build_machine(tmp_path, **files)
    report = look(card, tmp_path)
    assert keys(report, "binds", "costs") == set()
    assert "hugepages" in keys(report, "note")


# The card's own answers
# ----------------------------------------------------------------------------


def test_a_board_is_reset_and_answers_again(card):
    """`litepcie_util reset` of a simulated card, which has no PCI function, resets it through the
    library. The card answers afterwards."""
    report = card(["reset"])
    assert report["address"] is None and "anebox" in report["identifier"]


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_refused_writes_of_registers_are_named(card, writes):
    """doctor reports how many register writes of less than a dword the card has refused, and says
    what to do.

    The writes must come from the utility itself, because the board resets the card between two
    clients. So faults change the byte enables of some of them.
    """
    faults = ["--fault=wrong-be:1", "--fault=hole-be:2"][:writes]
    report = card(["doctor"], *faults)
    assert report["refused_writes"] == writes
    assert ("registers" in keys(report, "note")) is (writes > 0)
    if writes:
        found = finding(report, "registers")
        count = "1 write" if writes == 1 else "2 writes"
        assert found["what"].startswith(f"{count} of less than 4 bytes to registers")
        assert "write all four" in found["lift"]


def test_info_says_what_the_build_has(card):
    """`litepcie_util info` reads from the card's capability table what the build's csr.json
    says."""
    found = card(["info"])["endpoint"]
    csr = json.loads((ROOT / "build" / "sim" / "csr.json").read_text())
    memories = csr["memories"]
    for name in ("memory0", "memory1"):
        assert found[f"{name}_offset_bytes"] == memories[name]["base"]
        assert found[f"{name}_size_bytes"] == memories[name]["size"]
    constants = csr["constants"]
    assert found["clock_hz"] == constants["config_clock_frequency"]
    assert found["interrupt_h2c"] == constants["pcie_dma0_reader_interrupt"]
    assert found["interrupt_c2h"] == constants["pcie_dma0_writer_interrupt"]
    assert found["interrupt_user"] is None  # the user slot's loopback raises no interrupt
