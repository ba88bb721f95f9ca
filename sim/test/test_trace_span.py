# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""First and last beat: a trace has every cycle that a TLP was at the pins, stalls and all."""

import pcapng_file
import pytest
from board_builds import build_executable, register_map
from board_client import HIGH_MEMORY, slices
from board_process import WatchedBoard
from seeds import SHIFT
from vfio_client import BAR0

from sim.trace import perfetto
from sim.trace.tlp import decode, load

TOTAL = 16384
HEAD = {"CQ": 16, "CC": 12, "RQ": 16, "RC": 12}  # bytes of descriptor
CYCLE_NS, BEAT = 4, 32


def loopback(card):
    """As much each way as there are pages, and a few host accesses beside it."""
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
    """A run in which the block holds RQ and CC off and stock LitePCIe RC; the counters beside it.

    Without straddle no beat is shared, so that the counters say what the spans must add up to.
    """
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
    """What the counters saw, cycle by cycle: beats that passed and beats that had to wait."""
    tlps, stats = stalled
    seen, counted = [t for t in tlps if t.interface == interface], stats[interface.lower()]
    assert len(seen) == counted["tlps"] > 16
    assert sum(beats(t) for t in seen) == counted["beats"]
    cycles = sum((t.span or CYCLE_NS * beats(t)) // CYCLE_NS for t in seen)
    assert cycles == counted["beats"] + counted["stalls"]
    assert all(t.span is None or t.span > CYCLE_NS * beats(t) for t in seen)
    if interface in ("RQ", "RC"):
        assert counted["stalls"] > 100, "nothing was held up: the test would prove nothing"


def test_slices_are_drawn_as_long_as_they_were(stalled):
    """The timeline has the spans, and TLPs on one interface follow each other."""
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
    """More writes to registers than the bridge can keep, long ones behind them: CQ stalls."""
    path = tmp_path / "trace.pcapng"
    with start_board("--tlp-log", path) as board:
        card = board.card(mps=256)
        board.command("clear")
        scratch = card.address("ctrl_scratch")
        # Two registers each: the bus takes twice as long as the link.
        card.client.write_multi([(scratch, i.to_bytes(8, "little")) for i in range(400)])
        for i in range(8):
            card.client.write(BAR0, 0x10000 + 256 * i, bytes(256), posted=True)
        assert card.read("ctrl_scratch") == 399
        counted = board.stats()["cq"]
    seen = [t for t in load(path) if t.interface == "CQ"][-counted["tlps"] :]
    cycles = sum((t.span or CYCLE_NS * beats(t)) // CYCLE_NS for t in seen)
    assert sum(beats(t) for t in seen) == counted["beats"] >= 400 + 8 * 9
    assert counted["stalls"] > 100, "nothing was held up: the test would prove nothing"
    assert cycles == counted["beats"] + counted["stalls"]


def test_completions_in_shared_beats(start_board, tmp_path):
    """With straddle a completion of 64 bytes has three beats, and may share the first and last."""
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
    """The comment of a packet in either byte order; one that says something else is none."""
    write = pcapng_file.dwords(0x4000_0001, 0x0100_000F, 0x1000, payload=bytes(4))
    tlp = decode("RQ", 100, write, 24)
    assert str(tlp).endswith("tag 0 pins 24.000 ns")
    assert perfetto.span(tlp, 0) == (76, 100) and perfetto.span(tlp, 80) == (80, 100)
