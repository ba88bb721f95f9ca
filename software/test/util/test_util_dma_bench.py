# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util dma_bench at a stand-in for a card, with and without faults.

The tests in sim/test use the real gateware.
"""

import re

import pytest

RATE = {"id", "value", "unit", "limit", "ratio", "binds", "bytes", "cycles", "stall_cycles"}


def test_dma_bench_tells_how_it_goes_on(util, card, device):
    """dma_bench --interval reports consecutive intervals. The rate of each is its number of bytes,
    divided by its time by the card's clock."""
    arguments = ("dma_bench", "--direction", "c2h", "--size", "8M", "--interval", "0.01")
    with card():
        status, report = util.json(device, *arguments)
        text = util.run("-d", device, *arguments)
    assert status == text.returncode == 0
    found = report["intervals"]
    assert len(found) > 1 and {entry["id"] for entry in found} == {"c2h"}
    assert all(set(entry) == RATE | {"from_s", "to_s"} for entry in found)
    assert found[0]["from_s"] == 0
    assert all(a["to_s"] == b["from_s"] for a, b in zip(found, found[1:]))
    for entry in found:
        assert entry["to_s"] - entry["from_s"] >= 0.001
        assert entry["value"] == pytest.approx(entry["bytes"] / (entry["cycles"] * 4))
        assert entry["ratio"] == pytest.approx(entry["value"] / entry["limit"])
        # The stand-in moves at most 8 KiB in 300 ticks of 4 ns. Register reads take device time,
        # too.
        assert 0 <= entry["value"] < 8192 / 1200 * 1.01
    assert 4 << 20 < sum(entry["bytes"] for entry in found) <= 8 << 20
    assert len(re.findall(r"^  c2h +[\d.]+-", text.stdout, re.MULTILINE)) > 1


def test_dma_bench_does_not_wait_for_logic_that_moves_nothing(util, card, device):
    """If the logic in the user slot moves no data, each row of dma_bench --slot has a reason in
    place of a rate, and the status is 0.
    """
    with card():
        status, report = util.json(device, "dma_bench", "--slot", "--size", "4M")
        alone = util.run("-d", device, "dma_bench", "--slot", "--direction", "c2h").stdout
    assert status == 0, report["failures"]
    assert [row["id"] for row in report["rows"]] == ["user/c2h", "user/h2c", "user/duplex"]
    assert all(row["value"] is row["binds"] is None for row in report["rows"])
    assert report["rows"][0]["reason"].startswith("c2h: 256 buffers wait. The card does not tell")
    assert report["rows"][1]["reason"].startswith("h2c: 256 buffers wait")
    assert "user/c2h            -" in alone and "user/h2c" not in alone


def test_dma_bench_sweeps_over_sizes(util, card, device):
    """On a card with records (of finished c2h buffers, in host memory) dma_bench --sweep moves and
    compares transfers of 64 bytes to 64 KiB.
    """
    with card(records=True):
        status, report = util.json(device, "dma_bench", "--sweep")
        assert status == 0, report["failures"]
    rows = report["rows"]
    assert [row["size_bytes"] for row in rows] == [64 << n for n in range(11)]
    for row in rows:
        assert set(row) == RATE | {"size_bytes", "transfers_per_s", "reason"}
        assert row["reason"] is None and row["limit"] > 0
        # In 300 ticks of 4 ns the stand-in for the card moves one buffer of any size in each
        # direction, both at once. Register reads take additional time, and a program on a busy
        # machine makes more of them.
        assert 0.05 < row["value"] / row["size_bytes"] * 1200 <= 1.01
        assert row["transfers_per_s"] == pytest.approx(row["value"] / row["size_bytes"] * 1e9)


def test_a_card_without_records_sweeps_over_whole_buffers(util, card, device):
    """On a card without records (of finished c2h buffers, in host memory) the rows of dma_bench
    --sweep for sizes below 4 KiB have a reason in place of a rate, and the status is 0.
    """
    with card():
        status, report = util.json(device, "dma_bench", "--sweep")
    without = [row["size_bytes"] for row in report["rows"] if row["value"] is None]
    assert status == 0 and without == [64 << n for n in range(6)]
    assert all("no records" in row["reason"] for row in report["rows"][:6])


def test_a_packet_that_comes_back_wrong_fails_the_sweep(util, card, device):
    """dma_bench --sweep compares the packets that come back: one flipped bit fails the command."""
    with card(records=True, flip=("c2h", 40)):
        status, report = util.json(device, "dma_bench", "--sweep")
    assert status == 1 and "differ" in report["failures"][0]
