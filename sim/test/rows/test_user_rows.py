# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the rows user/*: the throughput through the user slot, and what limits it, for logic of
every kind."""

import json
import subprocess
from unittest import mock

import pytest

from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.examples import Occupant
from sim.rows import limits, user_slot
from sim.rows.measure import Conditions
from sim.rows.streams import Job
from sim.rows.user_slot import Passed, SlotStream, row_of, rows

CYCLES = 10_000
THRIFTY = Occupant("thrifty", str(artefacts.ROOT / "sim/test/blocks/thrifty.py") + ":Thrifty")


def passed(h2c=None, c2h=None, end=(0, 0)):
    """Return a made-up measurement of the user slot. `h2c` and `c2h` are (beats, stalls) of the
    slot's streams sink and source. `end` is (cycles for which a stream was held up, beats) at the
    end, for both streams."""
    counts = {
        side: dict(zip(("beats", "stalls"), found or (0, 0)))
        for side, found in (("sink", h2c), ("source", c2h))
    }
    moved = {way: 32 * counts[side]["beats"] for way, side in user_slot.SIDE.items()}
    last = {side: {"held_cycles": end[0], "beats": end[1]} for side in counts}
    return Passed(CYCLES, moved, counts, last, 0)


def shown(name, *found, **more):
    entry = row_of(name, passed(*found, **more), Conditions())
    return entry.value, entry.binds, entry.reason


# Values and reasons of a row, from made-up measurements ------------------------------------------


def test_logic_at_full_rate_is_bound_by_the_link():
    """Logic that takes and sends at full rate is limited by the link. The row says nothing about
    the slot."""
    assert shown("h2c", (9000, 0)) == (7.2, "wire", None)
    assert shown("c2h", None, (8880, 1120)) == (7.104, "interface", None)
    value, binds, reason = shown("duplex", (8400, 1600), (8400, 1600))
    # These stalls of the user slot come from the card and not from the user's logic.
    assert (value, binds, reason) == (6.72, "interface", None)
    at = Conditions()
    entry = row_of("duplex", passed((8400, 0), (8400, 0)), at)
    assert entry.limit == limits.duplex(at.mps, at.mrrs).value


def test_logic_that_is_slow_binds_and_says_how_much():
    """Slow logic is named as the limit: `sink.ready` if it takes beats slowly, `source.valid` if it
    sends them slowly."""
    assert shown("h2c", (6300, 3700)) == (5.04, "user slot", "sink.ready low 37% of the time")
    assert shown("c2h", None, (4000, 0)) == (3.2, "user slot", "source.valid low 60% of the time")
    value, binds, reason = shown("duplex", (5000, 5000), (5000, 0))
    assert (value, binds) == (4.0, "user slot") and reason == "sink.ready low 50% of the time"


def test_logic_that_waits_for_the_card_does_not_bind():
    """Logic that takes each beat at once is not named as the limit, however late the host's data
    is."""
    assert shown("h2c", (5000, 0))[1:] == ("wire", None)
    assert shown("duplex", (5000, 2000), (5000, 2000))[1:] == ("interface", None)


def test_logic_that_makes_less_than_it_takes_has_a_limit_of_its_own():
    """If the logic sends fewer beats than it takes, RQ has more room for read requests, so the
    limit is higher. The row says how many beats the logic sends."""
    value, binds, reason = shown("duplex", (8900, 0), (2225, 0))
    assert (value, binds) == (7.12, "wire")
    assert reason == "the logic sends 0.25 beats for each that it takes"
    value, _, reason = shown("duplex", (2000, 6000), (8000, 2000))
    assert value == 1.6 and reason == (
        "sink.ready low 40% of the time; the logic sends 4 beats for each that it takes"
    )


def test_logic_that_does_not_move_is_a_row_that_says_so():
    """Logic that stands still gives a row without a value and with a reason. The measurement does
    not hang."""
    assert shown("c2h") == (None, None, "the logic sends nothing by itself")
    assert shown("c2h", end=(5, 12))[2] == "the logic sends nothing by itself after 12 beats"
    held = "the logic has held sink.ready low for 20.0 us, after 1000 beats"
    assert shown("h2c", (0, 9999), end=(5000, 1000)) == (None, None, held)
    low = "the logic has held source.valid low for 20.0 us, after 1000 beats"
    both = shown("duplex", (0, 9999), (0, 0), end=(5000, 1000))
    assert both == (None, None, f"{low}; the data of this row has no `last`; {held}")


@pytest.mark.parametrize("found", [((9000, 0), (0, 0)), ((0, 9999), (8880, 1120))])
def test_one_way_logic_has_no_duplex_rate(found):
    """Logic that only takes beats, or only sends them, has no duplex rate. The row's reason says
    what the logic does."""
    value, binds, reason = shown("duplex", *found, end=(5000, 0))
    assert (value, binds) == (None, None) and "after 0 beats" in reason


def test_each_row_says_that_it_is_measured(monkeypatch, capsys):
    """The line on standard error for a row is complete before the row is returned. It is updated
    while the measurement waits."""
    stream = mock.MagicMock()
    stream.__enter__.return_value = stream
    stream.pass_slot.return_value = passed()
    monkeypatch.setattr(user_slot, "SlotStream", lambda *words: stream)
    for entry in rows(None, None, Conditions()):
        assert capsys.readouterr().err.startswith(f"  measure {entry.id}  (")
        assert stream.waiting.__name__ == "show"


# On the board: real measurements ------------------------------------------------------------------


def test_the_loopback_reaches_the_limits_of_the_link():
    """The default loopback in the user slot takes and sends a beat in every cycle, and reaches the
    link's limits."""
    built = artefacts.build(DEFAULT)
    found = {r.id: r for r in rows(built.board, built.gateware / "csr.json", Conditions())}
    assert list(found) == ["user/c2h", "user/h2c", "user/duplex"]
    assert found["user/c2h"].value is None
    for name, binds in (("user/h2c", "wire"), ("user/duplex", "interface")):
        assert 0.98 < found[name].ratio < 1.0005 and found[name].binds == binds
        assert found[name].reason is None and found[name].violations == 0


@pytest.fixture(scope="module")
def thrifty():
    return artefacts.build(DEFAULT, THRIFTY)


def test_what_binds_is_the_slot_where_its_logic_is_slow(thrifty):
    """Logic that takes beats in two of three cycles limits the rows to two thirds of 8 GB/s, and is
    named as the limit."""
    csr = thrifty.gateware / "csr.json"
    found = {r.id: r for r in rows(thrifty.board, csr, Conditions(user="thrifty"))}
    for name in ("user/h2c", "user/duplex"):
        assert found[name].value == pytest.approx(8 * 2 / 3, rel=0.002)
        assert found[name].binds == "user slot"
        assert "sink.ready low 33% of the time" in found[name].reason
    assert found["user/duplex"].reason.endswith("0.25 beats for each that it takes")
    assert found["user/c2h"].reason == "the logic sends nothing by itself"


def test_dma_bench_says_the_same_by_software(thrifty):
    """`litepcie_util dma_bench --slot` names the same limit and the same shares. Its rates are not
    compared, since software may be late."""
    util = artefacts.utility(thrifty.headers)
    with BoardProcess(thrifty.board, Conditions().board_options()) as board:
        command = [util, "-d", f"sim:{board.socket}", "--json", "dma_bench", "--slot"]
        done = subprocess.run([*command, "--size", "4M"], capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert done.returncode == 0, report["failures"]
    found = {row["id"]: row for row in report["rows"]}
    assert found["user/c2h"]["value"] is None
    assert "source.valid low" in found["user/c2h"]["reason"]
    for name in ("user/h2c", "user/duplex"):
        assert 0 < found[name]["value"] < 8 * 2 / 3 * 1.001
        assert found[name]["binds"] == "user slot"
        assert "sink.ready low" in found[name]["reason"]
    assert "the logic sends 0.2" in found["user/duplex"]["reason"]


def test_logic_that_stops_does_not_hang_the_row(thrifty):
    """Logic that stops after 1000 beats gives a row with the side, the time and the beats. The
    measurement does not hang."""
    at = Conditions(user="thrifty")
    with SlotStream(thrifty.board, thrifty.gateware / "csr.json", at, Job(("h2c",))) as stream:
        stream.register("user_stop", 1000)
        entry = row_of("h2c", stream.pass_slot(), at)
    assert entry.value is None
    assert entry.reason.startswith("the logic has held sink.ready low for 1")
    assert entry.reason.endswith(" us, after 1000 beats")
