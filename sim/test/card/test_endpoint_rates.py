# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rates of the Lanebox endpoint and of its MMIO bridge in device time, compared with the limits of
link and interfaces."""

import pytest
from test_board_rates import bytes_per_cycle, run_c2h, run_h2c

from sim.rows import limits, peer
from sim.rows.measure import Conditions
from sim.test.board.board_builds import build_executable, build_gateware

CYCLE_NS = limits.CYCLE_NS
# Offsets in BAR0 of the card's first memory and of its capability table.
ADDRESS = {"memory": 0x10000, "capability": 0x1F000}
BAR2, CARD_MEMORY = 2, 0x80000
CAP_EXPRESS, LINK_CONTROL = 0x10, 0x10
RCB_128 = 1 << 3
LOOP = 20  # most cycles from a read on CQ until the card gives its non-posted credit back


def allow_long_completions(card):
    """Set RCB to 128 bytes in Link Control, as firmware does. The host then splits completions at
    multiples of 128 bytes only."""
    control = card.capabilities()[CAP_EXPRESS] + LINK_CONTROL
    card.config_write(control, card.config_read(control, 2) | RCB_128, 2)


@pytest.mark.parametrize("mps", [128, 256, 512])
def test_c2h_is_at_the_limit(start_board, mps):
    """c2h with writes of MPS bytes reaches 99 % or more of the limit of link and RQ."""
    with start_board() as board:
        measured = bytes_per_cycle(run_c2h(board, board.card(mps=mps)), "rq") / CYCLE_NS
    assert measured >= 0.99 * limits.c2h(mps, mps).value


@pytest.mark.parametrize("size,mps", [(64, 256), (128, 256), (256, 256), (512, 512)])
def test_h2c_is_at_the_limit(start_board, size, mps):
    """h2c reaches 99 % or more of the limit of link and RC, for completions of any size. The
    endpoint never holds RC off."""
    with start_board("--completion-size", size, "--rcb", 64) as board:
        measured = bytes_per_cycle(run_h2c(board, board.card(mps=mps)), "rc") / CYCLE_NS
        assert board.stats()["rc"]["stalls"] == 0
    limit = limits.h2c(size, mps, tags=256, mrrs=512, rtt_ns=600, straddle=True)
    assert measured >= 0.99 * limit.value


def test_the_client_enables_extended_tags_as_a_kernel_does(start_board):
    """With extended tags enabled, the card uses all 256 tags if its reads are small and the read
    latency is long.

    With RCB 128 a read of 128 bytes needs one completion header, so 256 of these reads fit the
    completion space.
    """
    with start_board("--read-latency", 6000, "--rcb", 128, log=True) as board:
        card = board.card(mrrs=128)
        allow_long_completions(card)
        run_h2c(board, card)
    assert {tlp.tag for tlp in board.tlps().on("RQ", "MRd")} == set(range(256))


@pytest.mark.parametrize(
    "latency, rcb, mrrs",
    [(1000, 64, 512), (2000, 64, 512), (5000, 64, 512), (5000, 128, 512), (2000, 64, 128)],
)
def test_h2c_over_long_round_trips(start_board, latency, rcb, mrrs):
    """With long read latencies h2c reaches 97 % or more of what link and reads in flight allow, and
    98 % or more if the link is the limit."""
    with start_board("--read-latency", latency, "--rcb", rcb) as board:
        card = board.card(mrrs=mrrs)
        if rcb == 128:
            allow_long_completions(card)
        measured = bytes_per_cycle(run_h2c(board, card), "rc") / CYCLE_NS
        assert board.stats()["rc"]["stalls"] == 0
    size = min(256, mrrs)
    limit = limits.h2c(size, 256, tags=256, mrrs=mrrs, rtt_ns=latency, straddle=True, rcb=rcb)
    print(measured / limit.value, limit)
    assert measured >= (0.98 if limit.binds == "wire" else 0.97) * limit.value, limit


@pytest.mark.parametrize(
    "where, most", [("memory", 5), ("capability", 5), ("card_memory", 7), ("register", 8)]
)
def test_an_idle_read_takes_few_cycles(start_board, where, most):
    """If the card has no other work, a host read takes at most `most` cycles from the request's
    beat on CQ to the completion's first beat on CC. `where` is block memory, the capability table,
    UltraRAM or a register."""
    with start_board(log=True) as board:
        card = board.card()
        card.config_write(0x18, 0xF000_0000)
        for _ in range(5):
            if where == "card_memory":
                card.client.read(BAR2, CARD_MEMORY, 4)
            elif where == "register":
                card.read("ctrl_scratch")
            else:
                card.mmio_read(ADDRESS[where])
    # One cycle is subtracted from each latency: the cycle in which CQ shows the request does not
    # count.
    taken = [round(tlp.latency / CYCLE_NS) - 1 for tlp in board.tlps().on("CC")]
    assert len(taken) == 5 and max(taken) <= most, taken


@pytest.fixture
def bar():
    with peer.Bar(build_executable(), build_gateware() / "csr.json", Conditions("lanebox")) as bar:
        yield bar


@pytest.mark.parametrize("size", [64, 128, 256])
def test_a_peer_reads_at_the_limit(bar, size):
    """When another PCIe device (such as a drive) reads the card's memory, it reaches 99 % or more
    of CC's limit and gets the right data."""
    row = bar.read_row("p2p_read", bar.memory, size, limits.cc(size, 256))
    assert row.ratio >= 0.99 and row.violations == 0


def test_a_peer_writes_at_the_limit(bar):
    """Writes of 64 bytes by another PCIe device, as from a write-combining buffer, keep CQ busy in
    every cycle. Each write takes three beats."""
    row = bar.write_row("mmio_write", bar.memory, 64)
    assert row.ratio >= 0.99
    assert row.cycles == 1 << 18 and row.conditions["cq_beats"] == pytest.approx(row.cycles, 0.01)


@pytest.mark.parametrize("size", [64, 256])
def test_reads_go_by_their_credits(bar, size):
    """With few non-posted credits, the rate of reads by another device is min(interface, credits x
    size / loop), within 5 %. The loop, from a read to its credit's return, is at most LOOP
    cycles."""
    bar.fill(bar.memory, size)
    loop = None
    for credits in (1, 2, 4, 32):
        peer.set_credits(bar, credits)
        rate, _ = bar.run("read", bar.memory, size)
        loop = loop or size / rate / CYCLE_NS
        assert rate == pytest.approx(peer.with_credits(size, 256, credits, loop).value, rel=0.05)
    peer.set_credits(bar, peer.CREDITS)
    assert loop <= LOOP
