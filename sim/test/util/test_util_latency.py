# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of `litepcie_util latency` on the board: its times are those of the TLP trace, and follow
--read-latency."""

import json
import subprocess

import pytest

from sim import artefacts
from sim.board.process import BoardProcess
from sim.rows.measure import Conditions
from sim.test.card.stamped import arrivals
from sim.trace.tlp import load

SIZES = [64, 128, 256, 512, 1024, 2048, 4096]
# first bus address of records and status lines, from software/liblitepcie/sim/sim.h
NOTICES = 0x3_0000_0000
DOORBELL = 3  # Register writes of one doorbell. The board may leave a few cycles between them.


def measured(count, *options, endpoint="lanebox"):
    built = artefacts.build(endpoint)
    util = artefacts.utility(built.headers)
    with BoardProcess(built.board, [*Conditions(endpoint).board_options(), *options]) as board:
        command = [util, "-d", f"sim:{board.socket}", "--json", "latency", "-n", str(count)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return {row["id"]: row for row in json.loads(done.stdout)["rows"]}


def test_the_times_are_those_of_the_trace(tmp_path):
    """For every size of transfer, the time from the doorbell to the last write of data that
    `litepcie_util latency` reports is that of the board's TLP trace, within 8 ns."""
    trace = tmp_path / "trace.pcapng"
    rows = measured(4, "--tlp-log", str(trace))
    found = {size: [] for size in SIZES}
    writes, rung, wanted, back = [], 0, 0, 0
    for tlp in load(trace):
        if (tlp.interface, tlp.kind) == ("CQ", "MWr"):
            writes.append(tlp.ns)
        if (tlp.interface, tlp.kind) == ("RQ", "MRd"):
            # When all data of a transfer has come back, the next read begins another transfer.
            if wanted == back:
                rung, wanted, back = writes[-DOORBELL], 0, 0
            wanted += 4 * tlp.dwords
        # The library's records and status lines are at NOTICES and above. A write below NOTICES
        # carries c2h data.
        if (tlp.interface, tlp.kind) == ("RQ", "MWr") and tlp.address < NOTICES:
            back += len(tlp.payload)
            if back == wanted and back in found:
                found[back].append(tlp.ns - rung)
    for size in SIZES:
        row = rows[f"dma/{size}"]
        assert len(found[size]) >= 4
        assert sorted([row["min_ns"], row["max_ns"]]) == pytest.approx(
            [min(found[size][-4:]), max(found[size][-4:])], abs=8
        )


@pytest.mark.parametrize("endpoint", ["lanebox", "litepcie"])
def test_the_times_to_the_interrupt_are_those_of_the_trace(tmp_path, endpoint):
    """For every size of transfer, the time from the doorbell of h2c to the MSI that `litepcie_util
    latency` reports is that of the board's TLP trace."""
    trace = tmp_path / "trace.pcapng"
    rows = measured(4, "--tlp-log", str(trace), endpoint=endpoint)
    found = {size: [] for size in SIZES}
    tlps = list(load(trace))
    writes = [tlp for tlp in tlps if (tlp.interface, tlp.kind) == ("CQ", "MWr")]
    # The card's stamps of doorbell and interrupt are each one cycle later than these times, so the
    # difference is the same.
    reached = {tlp.ns: at for tlp, at in arrivals(writes, endpoint)}
    rung, wanted = 0, 0
    for tlp in tlps:
        if (tlp.interface, tlp.kind) == ("CQ", "MWr") and not wanted:
            rung = reached[tlp.ns]
        if (tlp.interface, tlp.kind) == ("RQ", "MRd"):
            wanted += 4 * tlp.dwords
        if tlp.interface == "MSI":
            found[wanted].append(tlp.ns - rung)
        if tlp.interface == "MSI" or (tlp.interface, tlp.kind) == ("CQ", "MRd"):
            wanted = 0
    for size in SIZES:
        row = rows[f"interrupt/{size}"]
        assert len(found[size]) >= 4
        assert [row["min_ns"], row["max_ns"]] == [min(found[size][-4:]), max(found[size][-4:])]


def test_percentiles_are_in_order_and_the_histogram_is_whole():
    """In the report of `litepcie_util latency` percentiles are in order, histograms contain all
    transfers, and longer transfers take longer. No row has a time of the host's clock."""
    rows = measured(20)
    for end in ("interrupt", "dma"):
        medians = [rows[f"{end}/{size}"]["value"] for size in SIZES]
        assert medians == sorted(medians) and medians[0] > 600
    assert len(rows) == 2 * len(SIZES)
    for row in rows.values():
        marks = [row[f"{name}_ns"] for name in ("min", "median", "p90", "p99", "p999", "max")]
        assert marks == sorted(marks)
        assert sum(entry["count"] for entry in row["histogram"]) == 20
        assert row["software_ns"] is None
        assert row["reason"] is None


def test_slower_memory_shows_in_full():
    """If a read of host memory takes 2 us longer, each transfer that `litepcie_util latency`
    measures takes 2 us longer."""
    near, far = measured(3), measured(3, "--read-latency", "2600")
    for name in ("interrupt/64", "interrupt/512", "dma/64", "dma/512"):
        delta = far[name]["value"] - near[name]["value"]
        assert delta == pytest.approx(2000, abs=20)
