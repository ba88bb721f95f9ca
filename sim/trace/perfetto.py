# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes a trace as a timeline: Trace Event JSON, which Perfetto and chrome://tracing open.

Each interface has a track with a slice for each TLP. Each tag has a track with a slice from request
to last completion. Flows connect requests and completions; counters show outstanding reads.

A slice begins when the first beat is shown and ends when the last one is taken, so it includes
stalls. On RC two completions may share a beat: the slice of the second completion then begins at
the end of the first one's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TextIO

from gateware import numbers
from sim.trace.tlp import Read, Tlp, matched

CYCLE_NS = numbers.TICK_NS
BEAT_BYTES = numbers.BEAT_BYTES
DESCRIPTOR_BYTES = {
    **dict.fromkeys(("CQ", "RQ"), numbers.REQUEST_DESCRIPTOR),
    **dict.fromkeys(("CC", "RC"), numbers.COMPLETION_DESCRIPTOR),
    "MSI": 0,
}
TRACKS = {"CQ": 1, "CC": 2, "RQ": 3, "RC": 4, "MSI": 5}
LAST_BEAT = {"RQ", "CC", "MSI"}  # interfaces for which the trace has the time of a TLP's last beat
PID = 1

Event = dict[str, object]


def write(tlps: Iterable[Tlp], out: TextIO) -> None:
    """Write the trace of TLPs as one JSON object, with an event of the timeline on each line."""
    out.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
    for number, event in enumerate(events(tlps)):
        out.write((",\n" if number else "") + json.dumps(event))
    out.write("\n]}\n")


def events(tlps: Iterable[Tlp]) -> Iterator[Event]:
    """Yield all events of the timeline, in the order of the TLPs."""
    yield from _tracks()
    open_reads: dict[tuple[str, int], Read] = {}
    busy_until = dict.fromkeys(TRACKS, 0)
    now = flows = 0
    flow_of: dict[int, int] = {}
    for tlp, read in matched(tlps):
        now = tlp.ns
        begin, end = span(tlp, busy_until[tlp.interface])
        busy_until[tlp.interface] = end
        yield _slice(tlp, begin, end)
        if read is None:
            continue
        key = tlp.side, tlp.tag
        if tlp is read.request:
            if key in open_reads:  # The tag of a read is used again before that read has ended.
                yield _read_ends(open_reads[key], now)
            open_reads[key] = read
            flow_of[id(read)] = flows = flows + 1
            yield _read_begins(read)
            yield _flow("s", flows, tlp, begin)
        else:
            yield _flow("f" if read.done else "t", flow_of[id(read)], tlp, begin)
            if read.done:
                yield _read_ends(read, now)
                del open_reads[key], flow_of[id(read)]
        if tlp is read.request or read.done:
            yield _outstanding(tlp.side, now, sum(side == tlp.side for side, _ in open_reads))
    for read in open_reads.values():
        yield _read_ends(read, now)


def _tracks() -> Iterator[Event]:
    yield {"ph": "M", "pid": PID, "name": "process_name", "args": {"name": "card"}}
    for name, tid in TRACKS.items():
        track = {"ph": "M", "pid": PID, "tid": tid}
        yield {**track, "name": "thread_name", "args": {"name": name}}
        yield {**track, "name": "thread_sort_index", "args": {"sort_index": tid}}


def span(tlp: Tlp, free_from: int) -> tuple[int, int]:
    """Return begin and end of the TLP's beats in ns.

    `free_from` is the end in ns of the TLP before it on the same interface.
    """
    length = DESCRIPTOR_BYTES[tlp.interface] + len(tlp.payload)
    took = tlp.span or max(1, -(-length // BEAT_BYTES)) * CYCLE_NS
    if tlp.interface in LAST_BEAT:
        return min(tlp.ns, max(free_from, tlp.ns - took)), tlp.ns
    begin = max(free_from, tlp.ns)
    return begin, max(begin, tlp.ns + took)


def _at(ns: int) -> float:
    """Return a time in microseconds, the unit of the timeline's format. `ns` is in nanoseconds."""
    return ns / 1000


def _slice(tlp: Tlp, begin: int, end: int) -> Event:
    args: Event = {"tag": tlp.tag, "dwords": tlp.dwords, "requester": f"{tlp.requester:04x}"}
    if tlp.is_completion:
        args.update(status=tlp.status, byte_count=tlp.byte_count, lower_address=tlp.address)
        if tlp.latency is not None:
            args["latency_ns"] = tlp.latency
        name = f"{tlp.kind} tag {tlp.tag}"
    else:
        args.update(address=f"0x{tlp.address:x}", first_be=tlp.first_be, last_be=tlp.last_be)
        name = f"{tlp.kind} 0x{tlp.address:x}"
    return {
        "ph": "X",
        "pid": PID,
        "tid": TRACKS[tlp.interface],
        "cat": tlp.kind,
        "name": name,
        "ts": _at(begin),
        "dur": _at(end - begin),
        "args": args,
    }


def _flow(phase: str, number: int, tlp: Tlp, begin: int) -> Event:
    event: Event = {
        "ph": phase,
        "pid": PID,
        "tid": TRACKS[tlp.interface],
        "cat": f"{tlp.side} read",
        "name": "read",
        "id": number,
        "ts": _at(begin),
    }
    if phase == "f":
        # Perfetto ends the flow at the slice that holds this time, and not at the next slice.
        event["bp"] = "e"
    return event


def _tag_event(phase: str, read: Read, ns: int) -> Event:
    request = read.request
    return {
        "ph": phase,
        "pid": PID,
        "tid": TRACKS[request.interface],
        "cat": f"{request.side} read",
        "name": f"{request.side} tag {request.tag}",
        "id": f"{request.side} {request.tag}",
        "ts": _at(ns),
    }


def _read_begins(read: Read) -> Event:
    request = read.request
    args = {"address": f"0x{request.address:x}", "dwords": request.dwords}
    return {**_tag_event("b", read, request.ns), "args": args}


def _read_ends(read: Read, ns: int) -> Event:
    args = {"completions": len(read.completions), "complete": read.done}
    return {**_tag_event("e", read, ns), "args": args}


def _outstanding(side: str, ns: int, count: int) -> Event:
    name = f"outstanding reads of the {side}"
    return {"ph": "C", "pid": PID, "name": name, "ts": _at(ns), "args": {"reads": count}}
