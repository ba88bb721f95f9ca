# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/measure.py, which makes a row of the result table from a program's report, or
raises an error."""

import pytest

from sim.errors import TestFailed
from sim.rows import measure
from sim.rows.measure import Conditions

WAY = {"gb_per_s": 5.8, "bytes_per_cycle": 23.2, "window_bytes": 1 << 20, "compared_bytes": 1 << 24}
REPORT = {
    "ok": True,
    "failures": [],
    "direction": "both",
    "c2h": WAY,
    "h2c": WAY,
    "window": {"cycles": 45000},
}


def access(op, size, value, reason=None):
    """Return one row as in the report of `litepcie_util --json mmio_bench`. `value` is in MB/s for
    a write and in ns for a read."""
    unit = "MB/s" if op == "write" else "ns"
    return {
        "id": f"mmio_{op}/{size}",
        "op": op,
        "size_bytes": size,
        "unit": unit,
        "value": value,
        "reason": reason,
        "p99_ns": 752,
    }


def test_a_failed_test_never_becomes_a_number():
    """A report of litepcie_util that is not ok raises TestFailed with the utility's messages, and
    gives no result row."""
    failed = {**REPORT, "ok": False, "failures": ["c2h: buffer 3 differs"]}
    with pytest.raises(TestFailed, match="buffer 3 differs"):
        measure.c2h(failed, Conditions(), 0)


def test_stock_rows_carry_their_prefix():
    """For LitePCIe's endpoint the id of a result row begins with "stock/"."""
    assert measure.c2h(REPORT, Conditions("litepcie"), 0).id == "stock/c2h/mps256"


def test_the_completion_size_is_bounded_by_mps():
    """At MPS 256 a completion size of 512 B counts as 256 B, also in the id of the result row."""
    at = Conditions(mps=256, completion_size=512)
    assert measure.h2c(REPORT, at, 0).id == "h2c/cpl256"


def test_duplex_counts_the_slower_direction():
    """The result row of both directions at once has the rate of the slower direction."""
    slow = {**WAY, "gb_per_s": 3.0, "bytes_per_cycle": 12.0}
    row = measure.duplex({**REPORT, "h2c": slow}, Conditions(), 0)
    assert row.value == 3.0


def test_an_access_without_a_value_keeps_its_reason():
    """An MMIO access that has no value gives a result row with the reason, and without a ratio."""
    report = {"ok": True, "rows": [access("read", 8, None, "one dword came back")]}
    (row,) = measure.mmio(report, Conditions(), 1)
    assert (row.value, row.ratio, row.reason) == (None, None, "one dword came back")


def test_a_read_is_better_when_it_is_shorter():
    """The ratio of an MMIO read is limit over value, so that it is below 1. The row has the 99th
    percentile, too."""
    report = {"ok": True, "rows": [access("read", 4, 748)]}
    (row,) = measure.mmio(report, Conditions(mmio_rtt_ns=700), 0)
    assert 0.9 < row.ratio < 1
    assert row.p99 == 752


def test_a_transfer_has_the_limit_of_its_conditions():
    """The limit of a latency row, the least possible time, includes the host's round trip. A time
    for which the card gave no stamps becomes a row without a value."""
    timed = {
        "id": "dma/64",
        "size_bytes": 64,
        "value": 868,
        "p99_ns": 872,
        "reason": None,
        "histogram": [{"from_ns": 868, "to_ns": 872, "count": 200}],
    }
    none = {"id": "interrupt/64", "size_bytes": 64, "value": None, "reason": "no stamps"}
    report = {"ok": True, "rows": [none, timed]}
    silent, row = measure.latency(report, Conditions(read_latency_ns=1000), 0)
    assert (row.id, row.limit, row.binds) == ("latency/dma/64", 1012, "host round trip")
    assert row.ratio == pytest.approx(1012 / 868) and row.violations == 0
    assert (silent.id, silent.value, silent.reason) == ("latency/interrupt/64", None, "no stamps")
    assert silent.ratio is silent.violations is silent.histogram is None


def test_a_guests_stores_are_not_sold_as_the_cards_limit():
    """In a guest, MMIO writes are limited by the guest's own stores, so the row has no limit of the
    card."""
    report = {"ok": True, "rows": [access("write", 4, 31)]}
    (client,) = measure.mmio(report, Conditions(), 0)
    (guest,) = measure.mmio(report, Conditions(host="guest 6.1"), 0)
    assert (client.binds, guest.binds) == ("interface", "the guest's own stores")
    assert client.limit == pytest.approx(1000) and guest.limit is guest.ratio is None


def test_broken_rules_are_shared_out_by_what_can_break_them():
    """Broken rules are counted for the rows that can cause them: those of CC for MMIO, those of RC
    for h2c and duplex."""
    broken = {"completion-byte-count": 2, "rc-completions": 5, "crosses-4k": 1}
    shares = {name: measure.share(broken, name) for name in ("mmio", "c2h", "h2c", "duplex")}
    assert shares == {"mmio": 2, "c2h": 1, "h2c": 6, "duplex": 6}


def test_a_count_that_two_tests_share_is_nobodys():
    """A broken rule that several of the measured rows may have caused is counted in none of
    them."""
    names = ["mmio", "c2h", "h2c", "duplex"]
    broken = {"completion-byte-count": 2, "rc-backpressure": 5}
    assert measure.shares(broken, names) == {"mmio": 2, "c2h": 0, "h2c": None, "duplex": None}
    assert measure.shares({}, names) == dict.fromkeys(names, 0)
    assert measure.shares(broken, ["h2c"]) == {"h2c": 5}


def test_the_board_gets_the_conditions_that_the_row_states():
    """board_options() returns the options with which the board has a result row's conditions."""
    options = Conditions(mps=128, read_latency_ns=1000).board_options()
    assert options[options.index("--mps") + 1] == "128"
    assert options[options.index("--read-latency") + 1] == "1000"
    assert options[options.index("--rules") + 1] == "fatal"
    stock = Conditions("litepcie").board_options()
    assert stock[stock.index("--rules") + 1] == "warn"


def test_a_host_that_varies_is_told_to_the_board():
    """Jitter becomes a uniform --read-latency of the board, and late reads become its
    --iommu-miss."""
    options = Conditions(read_latency_ns=800, jitter_ns=400).board_options()
    assert options[options.index("--read-latency") + 1] == "uniform:400:1200"
    late = Conditions(read_latency_ns=1500, late_percent=3, late_ns=5000)
    options = late.board_options()
    assert options[options.index("--iommu-miss") + 1] == "3:5000"
    assert (late.mean_read_ns, late.longest_read_ns) == (1650, 6500)
    assert Conditions(read_latency_ns=800, jitter_ns=400).longest_read_ns == 1200
    assert Conditions().board_options()[Conditions().board_options().index("--iommu-miss") + 1] == (
        "0:0"
    )


def test_small_rows_have_the_limit_of_their_descriptors():
    """A row of small transfers has the limit of its direction and descriptor size, and has that
    size in its conditions."""
    up = measure.small({**REPORT, "direction": "c2h"}, Conditions(), 0, "small/c2h/64", 64)
    assert (up.id, up.binds) == ("small/c2h/64", "interface")
    assert up.limit == pytest.approx(64 / 12) and up.conditions["descriptor_bytes"] == 64
    at = Conditions(rcb=128, read_latency_ns=5000)
    down = measure.small({**REPORT, "direction": "h2c"}, at, 0, "h2c/x", 256)
    assert down.limit == pytest.approx(128 * 256 / 5000) and down.binds == "reads in flight"


def test_directions_apart_are_two_rows():
    """duplex_apart() gives two rows, one for each direction. If h2c is slow, the limit of c2h is
    higher."""
    slow = {**WAY, "gb_per_s": 3.0}
    at = Conditions(mps=512)
    up, down = measure.duplex_apart({**REPORT, "h2c": slow}, at, 0)
    assert (up.id, down.id) == ("duplex/mps512/c2h", "duplex/mps512/h2c")
    assert (up.value, down.value, round(down.limit, 2)) == (5.8, 3.0, 7.48)
    assert up.limit > measure.duplex_apart(REPORT, at, 0)[0].limit


def test_the_duplex_row_says_what_a_real_host_has():
    """The note of the result row duplex says what a real host reaches: 6.4 GB/s each way."""
    assert "6.4 GB/s each way" in measure.duplex(REPORT, Conditions(), 0).reason
