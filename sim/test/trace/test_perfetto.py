# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that `sim.trace --perfetto` writes valid Trace Event JSON, with all TLPs of the trace."""

import json
import subprocess
import sys
from collections import Counter, defaultdict

import pytest

from sim.test.board.board_builds import ROOT
from sim.test.trace import pcapng_file
from sim.test.trace.pcapng_file import dwords
from sim.test.trace.trace_run import recording
from sim.trace import perfetto
from sim.trace.tlp import decode, load

# {phase `ph` of a trace event: the fields that the event must have besides ph, pid and name}
FIELDS = {
    "M": {"args"},
    "X": {"ts", "dur", "tid", "cat", "args"},
    "C": {"ts", "args"},
    "b": {"ts", "cat", "id"},
    "e": {"ts", "cat", "id"},
    "s": {"ts", "tid", "cat", "id"},
    "t": {"ts", "tid", "cat", "id"},
    "f": {"ts", "tid", "cat", "id", "bp"},
}
TRACKS = ["CQ", "CC", "RQ", "RC", "MSI"]
# {payload in bytes: beats of a write on CQ or RQ}; 16 bytes of descriptor precede the payload
BEATS = {256: 9, 4: 1, 0: 1}


@pytest.fixture(scope="module")
def timeline(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    command = [sys.executable, "-m", "sim.trace", recording().path, "--perfetto", "-o", path]
    subprocess.run(command, check=True, cwd=ROOT)
    document = json.loads(path.read_text())
    assert document["displayTimeUnit"] == "ns"
    return document["traceEvents"]


def of(events, *phases):
    return [e for e in events if e["ph"] in phases]


def ns(event, field="ts"):
    return round(event[field] * 1000)


def test_every_event_is_as_documented(timeline):
    """Every event has a known phase and all fields of that phase. Times are numbers and not
    negative."""
    for event in timeline:
        assert FIELDS[event["ph"]] | {"pid", "name"} <= set(event), event
        for field in {"ts", "dur"} & set(event):
            assert isinstance(event[field], (int, float)) and event[field] >= 0, event
        assert event["ph"] != "f" or event["bp"] == "e"
        assert event["ph"] != "C" or all(isinstance(v, int) for v in event["args"].values())


def test_a_track_for_each_interface(timeline):
    """Each interface of the hard block has a named track, in the order of the data path."""
    names = {e["tid"]: e["args"]["name"] for e in timeline if e["name"] == "thread_name"}
    assert [names[tid] for tid in sorted(names)] == TRACKS
    assert {e["tid"] for e in of(timeline, "X")} == set(names)


def test_a_slice_for_each_tlp(timeline):
    """Each TLP has a slice on its interface's track, in order. The slice ends (RQ, CC) or begins
    (CQ, RC) at the TLP's time."""
    tlps = list(load(recording().path))
    slices = of(timeline, "X")
    assert len(slices) == len(tlps)
    for tlp, event in zip(tlps, slices):
        assert TRACKS[event["tid"] - 1] == tlp.interface
        assert (event["cat"], event["args"]["tag"]) == (tlp.kind, tlp.tag)
        begin, duration = ns(event), ns(event, "dur")
        # The slice of a TLP on RC begins a cycle later if its first beat is shared with the TLP
        # before.
        if tlp.interface == "RC":
            assert 0 <= begin - tlp.ns <= 4
        else:
            assert tlp.ns == (begin if tlp.interface == "CQ" else begin + duration)
        if tlp.kind == "MWr" and tlp.interface != "MSI":
            assert duration == (tlp.span or 4 * BEATS[len(tlp.payload)])


def test_slices_on_a_track_do_not_overlap(timeline):
    """Slices on one track do not overlap, since the format allows overlapping slices only if one
    lies inside the other."""
    ends = defaultdict(int)
    for event in of(timeline, "X"):
        assert ns(event) >= ends[event["tid"]], event
        ends[event["tid"]] = ns(event) + ns(event, "dur")


def test_flows_and_spans_join_request_and_completions(timeline):
    """Each read has one flow arrow and one span. The flow has a step for each completion but the
    last."""
    flows = defaultdict(list)
    for event in of(timeline, "s", "t", "f"):
        flows[event["id"]].append(event)
    shapes = Counter("".join(e["ph"] for e in flow) for flow in flows.values())
    # Each read of 512 bytes has two completions of 256 bytes. The refused read and the host's read
    # have one completion each.
    assert shapes == {"stf": 16, "sf": 2}
    slices = {(e["tid"], ns(e)) for e in of(timeline, "X")}
    assert all((e["tid"], ns(e)) in slices for flow in flows.values() for e in flow)
    for begin, end in zip(of(timeline, "b"), of(timeline, "b")[1:]):
        assert ns(begin) <= ns(end)
    spans = Counter((e["ph"], e["cat"]) for e in of(timeline, "b", "e"))
    assert spans == {
        ("b", "card read"): 17,
        ("e", "card read"): 17,
        ("b", "host read"): 1,
        ("e", "host read"): 1,
    }
    assert all(e["args"]["complete"] for e in of(timeline, "e"))


def test_the_spans_are_as_long_as_the_reads(timeline):
    """In the timeline the span of a read lasts from its request to its last completion."""
    tlps, begun = list(load(recording().path)), {}
    last = {(t.side, t.tag, t.ns) for t in tlps if t.is_completion}
    for event in of(timeline, "b", "e"):
        side, tag = event["id"].split()
        if event["ph"] == "b":
            begun[event["id"]] = ns(event)
        else:
            assert begun.pop(event["id"]) < ns(event)
            assert (side, int(tag), ns(event)) in last
    assert not begun


def test_counters_return_to_zero(timeline):
    """The counter of outstanding reads changes by one, reaches eight for a page of 4 KiB, and ends
    at zero."""
    counts = defaultdict(lambda: [0])
    for event in of(timeline, "C"):
        counts[event["name"]].append(event["args"]["reads"])
    for series in counts.values():
        assert all(abs(a - b) == 1 for a, b in zip(series, series[1:])) and series[-1] == 0
    assert max(counts["outstanding reads of the card"]) == 8
    assert max(counts["outstanding reads of the host"]) == 1


def test_a_read_that_is_never_answered():
    """The span of a read without an answer lasts until its tag is used again or the trace ends, and
    is marked incomplete."""
    read = dwords(0x0000_0001, 0x0100_070F, 0x1000)
    trace = [("RQ", 40, read), ("RQ", 80, read), ("CQ", 120, pcapng_file.dwords(*[0] * 3))]
    events = list(perfetto.events(decode(*packet) for packet in trace))
    ends = [(ns(e), e["args"]["complete"]) for e in of(events, "e") if "card" in e["cat"]]
    assert ends == [(80, False), (120, False)]


def test_completions_that_share_a_beat():
    """If two completions share a beat, the slice of the second begins where the slice of the first
    ends."""
    part = dwords(0x4A00_0008, 0x0000_0020, 0x0100_0700, payload=bytes(32))
    write = dwords(0x4000_0005, 0x0100_00FF, 0x1000, payload=bytes(20))
    trace = [
        ("RC", 40, part),
        ("RC", 40, part),
        ("RQ", 60, write),
        ("RQ", 64, write),
        ("CQ", 80, write),
    ]
    slices = of(perfetto.events(decode(*packet) for packet in trace), "X")
    spans = [(ns(e), ns(e) + ns(e, "dur")) for e in slices]
    assert spans == [(40, 48), (48, 48), (52, 60), (60, 64), (80, 88)]
