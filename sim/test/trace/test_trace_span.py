# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the span that a trace has for each TLP: the time at the pins from first to last beat,
stalls included."""

import pytest

from gateware import numbers
from sim.clients.vfio import BAR0
from sim.test.board.board_builds import build_executable, register_map
from sim.test.board.board_client import HIGH_MEMORY, slices
from sim.test.board.board_process import WatchedBoard
from sim.test.trace import pcapng_file
from sim.trace import perfetto
from sim.trace.tlp import decode, load
from tools.testing.seeds import SHIFT

TOTAL = 16384
# bytes of the descriptor that comes before a TLP's data
HEAD = {"CQ": 16, "CC": 12, "RQ": 16, "RC": 12}
CYCLE_NS, BEAT = numbers.TICK_NS, numbers.BEAT_BYTES


def loopback(card):
    """Move TOTAL bytes through the card's loopback, with some register reads at the same time."""
    source, sink = card.memory(HIGH_MEMORY, TOTAL), card.memory(HIGH_MEMORY + TOTAL, TOTAL)
    source.data[:] = data = bytes(i * 7 & 0xFF for i in range(TOTAL))
    card.write("pcie_dma0_loopback_enable", 1)
    card.program("h2c", slices(HIGH_MEMORY, TOTAL, 4096))
    card.program("c2h", slices(HIGH_MEMORY + TOTAL, TOTAL, 4096))
    card.start("c2h", "h2c")
    for _ in range(20):
        card.read("ctrl_scratch")
    card.wait_data(sink, data)
    card.stop()
    card.read("ctrl_scratch")


@pytest.fixture(scope="module")
def stalled(tmp_path_factory):
    """Run the board with random stalls on RQ, CC and RC. Return (TLPs of the trace, the board's
    counters). Straddle is off, so that no beat is shared and the spans must add up to the
    counters."""
    path = tmp_path_factory.mktemp("span") / "trace.pcapng"
    options = ["--stall", "40", "--seed", str(1 + SHIFT), "--rules", "warn"]
    print(*options)
    program, csr = build_executable("litepcie"), register_map("litepcie")
    with WatchedBoard(program, csr, options, path, violations=None) as board:
        loopback(board.card(mps=256))
        stats = board.stats()
    return list(load(path)), stats


def beats(tlp):
    return max(1, -(-(HEAD[tlp.interface] + len(tlp.payload)) // BEAT))


@pytest.mark.parametrize("interface", ["CQ", "CC", "RQ", "RC"])
def test_spans_add_up_to_beats_and_stalls(stalled, interface):
    """The spans on an interface add up to the beats that passed and the cycles for which they had
    to wait."""
    tlps, stats = stalled
    seen, counted = [t for t in tlps if t.interface == interface], stats[interface.lower()]
    assert len(seen) == counted["tlps"] > 16
    assert sum(beats(t) for t in seen) == counted["beats"]
    cycles = sum((t.span or CYCLE_NS * beats(t)) // CYCLE_NS for t in seen)
    assert cycles == counted["beats"] + counted["stalls"]
    assert all(t.span is None or t.span > CYCLE_NS * beats(t) for t in seen)
    if interface in ("RQ", "RC"):
        assert counted["stalls"] > 100, "too few stalls: the test would prove nothing"


def test_slices_are_drawn_as_long_as_they_were(stalled):
    """In the Perfetto timeline each slice is as long as its TLP's span, and slices of an interface
    do not overlap."""
    tlps, _ = stalled
    slices = [e for e in perfetto.events(tlps) if e["ph"] == "X"]
    ends = {}
    for tlp, event in zip(tlps, slices):
        begin, length = round(event["ts"] * 1000), round(event["dur"] * 1000)
        if tlp.interface != "MSI":
            assert length == (tlp.span or CYCLE_NS * beats(tlp))
        assert begin >= ends.get(tlp.interface, 0)
        ends[tlp.interface] = begin + length


def test_requests_that_the_card_holds_up(start_board, tmp_path):
    """If host writes come faster than the card's bridge takes them, CQ stalls, and the spans add up
    to beats and stalls."""
    path = tmp_path / "trace.pcapng"
    with start_board("--tlp-log", path) as board:
        card = board.card(mps=256)
        board.command("clear")
        scratch = card.address("ctrl_scratch")
        # Each write of 8 bytes covers two registers, so that it occupies the register bus twice as
        # long as the link.
        card.client.write_multi([(scratch, i.to_bytes(8, "little")) for i in range(400)])
        for i in range(8):
            card.client.write(BAR0, 0x10000 + 256 * i, bytes(256), posted=True)
        assert card.read("ctrl_scratch") == 399
        counted = board.stats()["cq"]
    seen = [t for t in load(path) if t.interface == "CQ"][-counted["tlps"] :]
    cycles = sum((t.span or CYCLE_NS * beats(t)) // CYCLE_NS for t in seen)
    assert sum(beats(t) for t in seen) == counted["beats"] >= 400 + 8 * 9
    assert counted["stalls"] > 100, "too few stalls: the test would prove nothing"
    assert cycles == counted["beats"] + counted["stalls"]


def test_completions_in_shared_beats(start_board, tmp_path):
    """With straddle the span in the trace of a 64-byte completion is at most three beats long. Its
    first and last beat may be shared with other completions."""
    path = tmp_path / "trace.log"
    with start_board("--completion-size", 64, "--tlp-log", path) as board:
        loopback(board.card(mps=256))
        stats = board.stats()["rc"]
    lines = [line for line in path.read_text().splitlines() if " ns RC " in line]
    assert len(lines) == stats["tlps"] == TOTAL // 64
    spans = {float(line.split(" pins ")[1].split()[0]) for line in lines if " pins " in line}
    assert spans <= {12.0} and all("pins" not in line or "16 dw" in line for line in lines)
    assert stats["stalls"] == 0 and stats["beats"] < 3 * stats["tlps"]


def test_a_span_that_another_tool_kept():
    """A span that stands in the comment of a pcapng packet is used in the text and in the
    timeline."""
    write = pcapng_file.dwords(0x4000_0001, 0x0100_000F, 0x1000, payload=bytes(4))
    tlp = decode("RQ", 100, write, 24)
    assert str(tlp).endswith("tag 0 pins 24.000 ns")
    assert perfetto.span(tlp, 0) == (76, 100) and perfetto.span(tlp, 80) == (80, 100)
