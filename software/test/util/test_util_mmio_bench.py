# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util mmio_bench and latency at a stand-in for a card, with and without faults.

The tests in sim/test use the real gateware.
"""

import pytest

from software.test.standin.card_standin import SCRATCH_RESET


def test_mmio_bench_measures_every_size_that_is_answered_rightly(util, card, device):
    """Each row of mmio_bench has times that the card's clock has measured, with a histogram.
    Afterwards the card's memory has its old contents.
    """
    with card() as standin:
        standin.preset_memory0([0xA5A50000 + n for n in range(256)])
        status, report = util.json(device, "mmio_bench", "--count", "20")
        assert standin.memory0(256) == [0xA5A50000 + n for n in range(256)]
    assert status == 0
    rows = {row["id"]: row for row in report["rows"]}
    assert list(rows) == ["mmio_read/4", "mmio_read/8", "mmio_write/4", "mmio_write/8"]
    for row in rows.values():
        assert row["reason"] is None
        assert row["min_ns"] <= row["median_ns"] <= row["p99_ns"] <= row["max_ns"]
        assert sum(entry["count"] for entry in row["histogram"]) == row["samples"] == 20
    # An MMIO read of the stand-in takes 187 ticks of 4 ns, and its posted write takes one tick.
    assert report["clock_round_trip_ns"] == 748
    assert rows["mmio_read/4"]["value"] == 748
    assert rows["mmio_write/4"]["value"] == rows["mmio_write/4"]["mb_per_s"] == 1000
    assert rows["mmio_write/8"]["value"] == 2000


@pytest.mark.parametrize("tick_ns, limit", [(4, 7.4219), (8, 3.7647)])
def test_times_are_in_the_ticks_of_the_card(util, card, device, tick_ns, limit):
    """litepcie_util computes times and rates with the length of a tick in the card's capability
    table.

    A card at 125 MHz moves as many bytes in a tick as a card at 250 MHz, but its ticks are twice as
    long. At MPS 512 the wire limits c2h at 250 MHz. At 125 MHz the card's interface to the PCIe
    block is the limit: 3.7647 GB/s, half of what it can move at 250 MHz.
    """
    with card(tick_ns=tick_ns):
        _, info = util.json(device, "info")
        _, mmio = util.json(device, "mmio_bench", "--count", "20")
        _, dma = util.json(device, "dma_test", "--direction", "c2h", "--size", "4M")
        _, bench = util.json(device, "dma_bench", "--size", "4M")
    assert info["endpoint"]["clock_hz"] == 10**9 // tick_ns
    assert info["device_time_s"] * 1e9 == pytest.approx(info["device_time_ticks"] * tick_ns)
    assert mmio["clock_round_trip_ns"] == 187 * tick_ns
    assert dma["c2h"]["gb_per_s"] == pytest.approx(dma["c2h"]["bytes_per_cycle"] / tick_ns)
    rows = {row["id"]: row for row in bench["rows"]}
    assert rows["c2h"]["limit"] == pytest.approx(limit, abs=1e-4)


def test_mmio_bench_gives_no_number_for_a_size_that_is_answered_wrongly(util, card, device):
    """If the card answers accesses of one size wrongly, the row of this size in mmio_bench has a
    reason in place of a value, and the status is 0.

    The stand-in answers accesses of 8 bytes as wrongly as stock LitePCIe does.
    """
    with card(wide="stock"):
        status, report = util.json(device, "mmio_bench", "--count", "3")
        text = util.run("-d", device, "mmio_bench", "--count", "3")
    assert status == text.returncode == 0
    rows = {row["id"]: row for row in report["rows"]}
    assert rows["mmio_read/4"]["value"] and rows["mmio_write/4"]["value"]
    assert rows["mmio_read/8"]["value"] is None
    assert "0xffffffffffffffff read" in rows["mmio_read/8"]["reason"]
    assert rows["mmio_write/8"]["value"] is None
    assert "stores a write of 8 bytes wrongly" in rows["mmio_write/8"]["reason"]
    assert text.stdout.count("no value:") == 2


@pytest.mark.parametrize(
    "target, valued",
    [
        ("scratch", ["mmio_read/4", "mmio_write/4"]),
        ("time", ["mmio_read/4", "mmio_read/8"]),
    ],
)
def test_mmio_bench_of_a_register_leaves_its_neighbours_alone(util, card, device, target, valued):
    """mmio_bench --target measures a register only with accesses that are not longer than the
    register. Afterwards ctrl_scratch has its old value."""
    with card() as standin:
        status, report = util.json(device, "mmio_bench", "--count", "3", "--target", target)
        assert standin.scratch() == SCRATCH_RESET
    assert status == 0
    assert [row["id"] for row in report["rows"] if row["value"] is not None] == valued
    assert all(row["reason"] for row in report["rows"] if row["value"] is None)


def test_a_card_without_stamps_gives_no_time_to_its_interrupt(util, card, device):
    """On a card without time stamps of doorbell and interrupt, the rows interrupt/* of `latency`
    have a reason in place of a time, and the rows dma/* have times.
    """
    with card():
        status, report = util.json(device, "latency", "--count", "2")
    assert status == 0
    rows = {row["id"]: row for row in report["rows"]}
    for size in (64 << n for n in range(7)):
        assert rows[f"interrupt/{size}"]["value"] is None
        assert "does not stamp doorbell and interrupt" in rows[f"interrupt/{size}"]["reason"]
        assert rows[f"dma/{size}"]["value"] is not None


def test_a_board_without_write_multi_is_served_one_write_at_a_time(util, card, device):
    """The library sends a simulated board that does not know the message REGION_WRITE_MULTI one
    register write in each message, and the report of mmio_bench says so.
    """
    with card(write_multi=False):
        status, report = util.json(device, "mmio_bench", "--count", "2")
        assert util.run("-d", device, "dma_test", "--size", "1M").returncode == 0
    assert status == 0
    assert "one write in a message" in report["mmio_path"]
