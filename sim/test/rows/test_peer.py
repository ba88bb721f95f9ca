# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/peer.py: how jobs of the peer, another PCIe device, become rows of the result
table.

In these tests the board is a stand-in. test_endpoint_rates.py makes real measurements.
"""

from copy import deepcopy

import pytest

from sim.errors import TestFailed
from sim.rows import limits, peer
from sim.rows.measure import Conditions

SIZE = 64
LIMIT = limits.cc(SIZE, 256)
DONE = {
    "planned": 0,
    "violations": {"tag-range": 0, "rc-backpressure": 0},
    "peer": {
        "busy": False,
        "errors": 0,
        "timeouts": 0,
        "mismatches": 0,
        "bytes": SIZE * peer.COUNT,
        "ticks": 1_000_000,
    },
}


class Board:
    """A stand-in for the board. It records commands. It answers `stats` with its list of answers in
    turn, and repeats the last one."""

    def __init__(self, *answers):
        self.answers, self.commands = [deepcopy(answer) for answer in answers], []

    def command(self, text):
        self.commands.append(text)

    def stats(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Bar(peer.Bar):
    """A stand-in for peer.Bar without a real card, with a memory and the register of read
    credits."""

    def __init__(self, board):
        self.at, self.board, self.registers = Conditions(), board, []
        self.csr = {
            "csr_registers": {"pcie_endpoint_control": {"addr": 0}},
            "memories": {"memory0": {"base": 0x10000}},
        }

    def register(self, name, value):
        self.registers.append((name, value))


def done(**changes):
    """Return the board's statistics after a job of the peer that succeeded. `changes` replace
    counters of the peer, or other values of the statistics."""
    stats = deepcopy(DONE)
    for name, value in changes.items():
        (stats["peer"] if name in stats["peer"] else stats)[name] = value
    return stats


def read_row(*answers):
    bar = Bar(Board(*answers))
    return bar.read_row("p2p_read", bar.memory, SIZE, LIMIT)


def test_a_row_says_what_was_read_in_which_time():
    """A result row has the rate at which the peer read bytes of the card by device time, and the
    given limit."""
    row = read_row(done())
    assert row.value == pytest.approx(SIZE * peer.COUNT / 4_000_000)
    assert row.limit == LIMIT.value and row.ratio == row.value / LIMIT.value
    assert (row.bytes, row.cycles, row.violations) == (SIZE * peer.COUNT, 1_000_000, 0)


@pytest.mark.parametrize(
    "wrong", [{"errors": 1}, {"timeouts": 1}, {"bytes": SIZE}, {"bytes": 0}, {"mismatches": 1}]
)
def test_reads_that_failed_or_lack_or_differ_are_no_row(wrong):
    """Reads by the peer with errors, timeouts, missing bytes or mismatches raise TestFailed and
    give no result row."""
    with pytest.raises(TestFailed):
        read_row(done(**wrong))


def test_broken_rules_are_in_the_row_whichever_they_are():
    """The row of a peer's reads has the sum of the counts of all rules of the hard block that were
    broken."""
    row = read_row(done(violations={"tag-range": 2, "rc-backpressure": 3}))
    assert row.violations == 5


@pytest.mark.parametrize("under_way", [{"busy": True}, {"planned": 1}])
def test_a_job_is_over_when_nothing_runs_and_nothing_is_planned(under_way):
    """A job counts as done only when the peer is idle and no command is planned. Between the writes
    that fill the page and the reads, the peer is idle, too."""
    assert read_row(done(bytes=SIZE, ticks=1, **under_way), done()).cycles == 1_000_000


def test_what_is_read_was_written_before():
    """The peer writes the page before it reads the page, since it compares with what it wrote
    itself."""
    bar = Bar(Board(done()))
    bar.read(bar.memory, SIZE)
    job = f"bar0 65536 {SIZE}"
    assert bar.board.commands == [
        "clear",
        f"at {peer.FILL} peer write {job} {peer.PAGE // SIZE} {peer.TAGS}",
        f"at {peer.START} peer read {job} {peer.COUNT} {peer.TAGS}",
    ]


def test_a_row_of_writes_counts_what_passed_between_the_marks():
    """The row of a peer's writes counts the bytes that passed CQ between two marks (copies of the
    board's counters). What passed before the first mark, while buffers filled up, is left out."""
    marks = {
        "0": {"cycle": 1000, "cq": {"payload_bytes": 90_000, "beats": 4000}},
        "1": {"cycle": 5000, "cq": {"payload_bytes": 150_000, "beats": 7000}},
    }
    bar = Bar(Board(done(bytes=SIZE * peer.WRITES, marks=marks)))
    row = bar.write_row("mmio_write", bar.memory, SIZE)
    assert (row.bytes, row.cycles, row.conditions["cq_beats"]) == (60_000, 4000, 3000)
    assert row.value == pytest.approx(60_000 / (4000 * limits.CYCLE_NS))
    first, last = (int(text.split()[1]) for text in bar.board.commands if text.endswith("mark"))
    assert peer.START < first < last


def test_the_limit_by_credits_is_the_least_of_both():
    """with_credits() gives credits x size / loop, or the limit of the interface if that is
    lower."""
    few, many = (peer.with_credits(SIZE, 256, credits, 20) for credits in (1, 32))
    assert (few.value, few.binds) == (SIZE / (20 * limits.CYCLE_NS), "credits x size / loop")
    assert many == limits.cc(SIZE, 256)


def test_the_loop_is_that_of_a_single_credit(monkeypatch):
    """The time from a read to the return of its credit is measured with one credit, and the limits
    of all rows are computed from it. If each row had its own measured time, each would seem to
    reach its limit."""
    bars = []

    class Enumerated(Bar):
        def __init__(self, *_):
            super().__init__(Board(done()))
            bars.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def read(self, at, size):
            """Stand for peer.Bar.read() on a board whose peer reads no faster with two read credits
            than with one."""
            return 0.8, done(bytes=size * peer.COUNT)

    monkeypatch.setattr(peer, "Bar", Enumerated)
    rows = {row.id: row for row in peer.credit_rows(None, None, Conditions())}
    assert rows["p2p_read/64@np1"].ratio == pytest.approx(1)
    assert rows["p2p_read/64@np2"].ratio == pytest.approx(0.5)
    assert {row.conditions["loop_cycles"] for row in rows.values()} == {64 / 3.2, 256 / 3.2}
    given = [value >> 8 for bar in bars for _, value in bar.registers]
    assert given == [1, 2, 4, 8, 16, 32] * 2
