# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The simulation counts the traffic at the hard block's pins, and the gateware counts it with its
own counters. Both counts agree."""

import random

import pytest

from sim.test.board.board_client import HIGH_MEMORY, SNAPSHOT, STREAMS, slices, wait_until
from tools.testing.seeds import each_seed

TOTAL = 32 * 1024


def settled(board):
    """Wait until device time stands still, so that all traffic has ended; returns the simulation's
    counts."""
    seen = [board.stats()]

    def still():
        seen.append(board.stats())
        return seen[-1]["cycles"] == seen[-2]["cycles"]

    wait_until(still, "an idle board")
    return seen[-1]


def gateware_counts(card):
    """Return a snapshot of the gateware's counters, from which the register write that took the
    snapshot is subtracted."""
    counts = card.counters()
    counts["cq_tlps"] -= 1
    counts["cq_beats"] -= 1
    counts["cq_payload_bytes"] -= 4
    return counts


@pytest.mark.parametrize("stall", [0, 20, 60])
@pytest.mark.parametrize("mps,size", [(128, 128), (256, 64), (512, 512)])
@each_seed(1)
def test_both_count_the_same(start_board, stall, mps, size, seed):
    """After mixed traffic, gateware and simulation have counted the same TLPs, payload bytes and
    beats on each of CQ, CC, RQ and RC."""
    rng = random.Random(seed)
    options = ["--stall", stall, "--seed", seed, "--completion-size", size]
    with start_board(*options) as board:
        card = board.card(mps=mps)
        source, sink = card.memory(HIGH_MEMORY, TOTAL), card.memory(2 * HIGH_MEMORY, TOTAL)
        source.data[:] = rng.randbytes(TOTAL)
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", slices(source.address, TOTAL, 4096))
        card.program("c2h", slices(sink.address, TOTAL, 4096))
        card.start("c2h", "h2c")
        for _ in range(20):
            card.mmio_write(0x10000 + 4 * rng.randrange(1024), rng.getrandbits(32))
            card.mmio_read(0x14000)
        card.wait_data(sink, source.data[:])
        card.stop()
        model = settled(board)
        gateware = gateware_counts(card)
    for stream in STREAMS:
        for count in ("tlps", "payload_bytes", "beats"):
            assert gateware[f"{stream}_{count}"] == model[stream][count], f"{stream} {count}"
    assert model["rc"]["payload_bytes"] == TOTAL and model["rq"]["payload_bytes"] == TOTAL
    assert model["cq"]["tlps"] > 100 and model["cc"]["payload_bytes"] >= 80


def test_clear_starts_both_again(start_board):
    """The board's control command `clear` zeroes the simulation's counts. The gateware's clear bit
    zeroes the gateware's counters."""
    with start_board() as board:
        card = board.card()
        for _ in range(10):
            card.mmio_read(4)
        settled(board)
        cleared = board.command("clear")
        assert cleared["cycles"] == 0
        for stream in STREAMS:
            assert set(cleared[stream].values()) == {0}
        card.clear_counters()
        card.mmio_read(4)
        model, gateware = settled(board), gateware_counts(card)
        assert model["cc"]["tlps"] == gateware["cc_tlps"] == 1
        assert model["mmio_reads"] == 1 and model["mmio_writes"] == 1


def test_a_snapshot_is_of_one_instant(start_board):
    """Reading the snapshot of the gateware's counters does not change the snapshot. The next
    snapshot adds exactly the TLPs between the two."""
    with start_board() as board:
        card = board.card()
        card.write("pcie_counters_control", SNAPSHOT)
        first = card.read("pcie_counters_cq_tlps")
        assert card.read("pcie_counters_cq_tlps") == first, "a snapshot must not go on counting"
        card.write("pcie_counters_control", SNAPSHOT)
        # Five TLPs have reached CQ between the two snapshots: four reads, since each read of the
        # counter takes two dwords, and the write that took the second snapshot.
        assert card.read("pcie_counters_cq_tlps") == first + 5
