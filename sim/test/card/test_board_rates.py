# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Throughput in device time: stock LitePCIe reaches the rates that are known of it, and nothing
exceeds the limits.

The known rates were measured with another model of the hard block's pins. The limits are those of
sim/rows/limits.py, which shares no code with the board's model.
"""

import pytest

from sim.rows import limits
from sim.test.board.board_client import C2H_GENERATE, H2C_CHECK, HIGH_MEMORY, pattern, slices
from sim.test.model.model_probe import run

TOTAL = 1 << 20  # bytes of each transfer whose rate is measured
CYCLE_NS = limits.CYCLE_NS


def run_c2h(board, card):
    """Send 1 MiB of the card's test pattern to host memory, and compare it. Returns the gateware's
    counters for the transfer."""
    memory = card.memory(HIGH_MEMORY, TOTAL)
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", slices(HIGH_MEMORY, TOTAL, 8192))
    card.clear_counters()
    card.start("c2h")
    card.wait_data(memory, pattern(TOTAL))
    return card.counters()


def run_h2c(board, card):
    """Send 1 MiB of the test pattern to the card, whose gateware checks it. Returns the gateware's
    counters for the transfer."""
    memory = card.memory(HIGH_MEMORY, TOTAL)
    memory.data[:] = pattern(TOTAL)
    card.write("pattern_control", H2C_CHECK)
    card.program("h2c", slices(HIGH_MEMORY, TOTAL, 8192))
    card.clear_counters()
    card.start("h2c")
    assert card.h2c_check(TOTAL // 32) == 0
    return card.counters()


def bytes_per_cycle(counters, stream):
    cycles = counters[f"{stream}_last"] - counters[f"{stream}_first"] + 1
    return counters[f"{stream}_payload_bytes"] / cycles


def steady_rate(tlps):
    """Return the payload rate of the TLPs at the pins in GB/s. The first and the last quarter of
    the TLPs are left out, since buffers fill and drain then."""
    tlps = tlps[len(tlps) // 4 : -len(tlps) // 4]
    return sum(4 * t.dwords for t in tlps[1:]) / (tlps[-1].ns - tlps[0].ns)


@pytest.mark.parametrize("mps,known", [(128, 25.5), (256, 28.35), (512, 29.8)])
def test_stock_c2h(start_stock, mps, known):
    """Stock LitePCIe's c2h has its known rate in payload bytes per cycle, within 1 %."""
    with start_stock() as board:
        measured = bytes_per_cycle(run_c2h(board, board.card(mps=mps)), "rq")
    assert measured == pytest.approx(known, rel=0.01)


@pytest.mark.parametrize(
    "size,mps,known", [(64, 256, 12.8), (128, 256, 18.3), (256, 256, 23.3), (512, 512, 27)]
)
def test_stock_h2c(start_stock, size, mps, known):
    """Stock LitePCIe's h2c has its known rate in payload bytes per cycle, within 2 %."""
    # With 64-byte completions stock LitePCIe lets too many wait in the hard block, which breaks a
    # rule: see test_stock_defects.py.
    options = ["--completion-size", size, *(["--rules", "off"] if size == 64 else [])]
    with start_stock(*options) as board:
        measured = bytes_per_cycle(run_h2c(board, board.card(mps=mps)), "rc")
    assert measured == pytest.approx(known, rel=0.02)


@pytest.mark.parametrize("latency", [2000, 4000])
def test_reads_in_flight_bound_h2c(start_stock, latency):
    """With a read latency of 2 us or more, h2c of stock LitePCIe is limited by its 16 reads of 512
    bytes in flight. It reaches 85 % to 100 % of that limit."""
    with start_stock("--read-latency", latency) as board:
        measured = bytes_per_cycle(run_h2c(board, board.card()), "rc") / CYCLE_NS
    bound = limits.h2c(256, 256, tags=16, mrrs=512, rtt_ns=latency)
    assert bound.binds == "reads in flight"
    assert 0.85 * bound.value < measured <= bound.value


@pytest.mark.parametrize("mps", [128, 256, 512])
def test_c2h_keeps_the_limit_at_the_pins(start_stock, mps):
    """In the steady state c2h of stock LitePCIe reaches 98.5 % to 100 % of what link and RQ
    interface allow."""
    with start_stock(log=True) as board:
        run_c2h(board, board.card(mps=mps))
    measured = steady_rate(board.tlps().on("RQ", "MWr"))
    limit = limits.c2h(mps, mps)
    assert 0.985 * limit.value < measured < 1.001 * limit.value, limit


@pytest.mark.parametrize("size,mps", [(64, 256), (128, 256), (256, 256), (512, 512)])
def test_h2c_keeps_the_limit_at_the_pins(start_stock, size, mps):
    """In the steady state h2c of stock LitePCIe does not exceed what link and RC interface
    allow."""
    with start_stock("--completion-size", size, "--rules", "off", log=True) as board:
        run_h2c(board, board.card(mps=mps))
    limit = limits.h2c(size, mps, tags=16, mrrs=512, rtt_ns=600)
    assert steady_rate(board.tlps().on("RC", "CplD")) < 1.001 * limit.value, limit


def link_rate(kind, payload, mps, gap_ns):
    """Return the payload rate in GB/s of one direction of the link model alone, with a pause of
    `gap_ns` before each TLP."""
    [rate] = run([f"link {kind} {payload} {mps} {gap_ns}"]).rates
    return rate


@pytest.mark.parametrize("kind", ["write", "completion"])
@pytest.mark.parametrize("mps", [128, 256, 512])
def test_a_saturated_link_carries_what_the_formula_says(kind, mps):
    """The link model sends DLLPs and skip ordered sets between TLPs. When saturated, it has the
    payload rate that limits.py computes, within 0.1 %."""
    overhead = {"write": limits.WRITE_OVERHEAD, "completion": limits.COMPLETION_OVERHEAD}[kind]
    for payload in (4, 64, 128, 256, 512):
        if payload <= mps:
            wanted = limits.wire(payload, overhead, mps)
            assert link_rate(kind, payload, mps, 0) == pytest.approx(wanted, rel=0.001), payload


def test_an_idle_link_delays_nothing():
    """On a link with pauses of 1 us between TLPs, DLLPs and skip ordered sets lower the rate of the
    TLPs by less than 0.1 %."""
    payload, gap = 256, 1000
    alone = gap + (payload + limits.WRITE_OVERHEAD) / limits.RAW
    assert link_rate("write", payload, 256, gap) == pytest.approx(payload / alone, rel=0.001)
