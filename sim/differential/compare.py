# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Turns two observations of the same plan of operations into a list of disagreements.

These are compared: the values that software read, host memory at the end, the TLPs of CQ, CC and RQ
(writes and reads separately) one by one, interrupt messages, cfg_* outputs, and the result of each
read on RC.

These may differ between two right models, so they are not compared: time, the interleaving of
directions and channels, where a root complex splits completions, and which free tag it takes.
Instead each side's completions must be well formed by themselves, and each answer must echo its own
request. Data in lanes that no byte enable covers is ignored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from sim.differential.observation import Observation, Packet
from sim.differential.well_formed import answers, completions_of_reads, enabled_bytes

READ, WRITE = 0, 1
# Fields of CC that repeat fields of the request. They are not compared: the field `answers` names
# the request instead.
ECHOES = ("requester", "tag")
# Fields of RQ's reads that are not compared. The card numbers its writes, and a read has the number
# of the write before it. Which write comes before a read depends on time.
NUMBERS = ("sequence",)


@dataclass(frozen=True)
class Disagreement:
    """A pair of values that differ between the two models at the place `what`, such as
    "cq.requester".

    A pair that occurs several times is one disagreement."""

    what: str
    ours: str
    theirs: str

    def __str__(self):
        return f"{self.what}: ours {self.ours}, theirs {self.theirs}"


def compare(ours: Observation, theirs: Observation) -> list[Disagreement]:
    """Return the disagreements of our model and cocotbext-pcie, each once, in the order of
    discovery."""
    found: dict[Disagreement, None] = {}
    for what, mine, other in _differences(ours, theirs):
        if mine != other:
            found[Disagreement(what, _text(mine), _text(other))] = None
    return list(found)


def _text(value) -> str:
    text = f"{value:#x}" if isinstance(value, int) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _differences(ours: Observation, theirs: Observation) -> Iterator[tuple]:
    yield from _software(ours.outcome, theirs.outcome)
    yield "pins.unfinished", ours.unfinished, theirs.unfinished
    yield "msi.count", len(ours.messages), len(theirs.messages)
    for mine, other in zip(ours.messages, theirs.messages):
        yield "msi.pins", mine, other
    yield from _configs(ours.configs, theirs.configs)
    yield from _packets("cq", ours.on("CQ"), theirs.on("CQ"), ignore=())
    yield from _packets("cc", answers(ours), answers(theirs), ignore=ECHOES)
    for name, kind, ignore in (("rq.write", WRITE, ()), ("rq.read", READ, NUMBERS)):
        mine, other = ([p for p in side.on("RQ") if p.type == kind] for side in (ours, theirs))
        yield from _packets(name, mine, other, ignore)
    strange = [[p for p in side.on("RQ") if p.type not in (READ, WRITE)] for side in (ours, theirs)]
    yield "rq.other", *map(len, strange)
    yield "rc.straddle_keep", ours.straddle_keeps, theirs.straddle_keeps
    yield from _reads(completions_of_reads(ours), completions_of_reads(theirs))


def _software(ours: dict, theirs: dict) -> Iterator[tuple]:
    yield "software.unreached", ours["unreached"], theirs["unreached"]
    yield "software.values", len(ours["values"]), len(theirs["values"])
    for (step, mine), (_, other) in zip(ours["values"], theirs["values"]):
        yield f"software.{step}", mine, other
    for address, content in theirs["memory"].items():
        yield f"memory.{address}", ours["memory"][address], content


def _configs(ours: list, theirs: list) -> Iterator[tuple]:
    """Yield the sequence of (MPS, MRRS) of both models.

    For each cfg_* output yield the set of its values as well."""
    sizes = [[(c["max_payload"], c["max_read_req"]) for c in side] for side in (ours, theirs)]
    yield "cfg.sizes", *sizes
    for name in ours[0]:
        yield f"cfg.{name}", *(sorted({c[name] for c in side}) for side in (ours, theirs))


def _packets(name: str, ours: list, theirs: list, ignore: tuple) -> Iterator[tuple]:
    """Yield the pairs of values of two lists of TLPs, field by field.

    A different number of TLPs is one disagreement. TLPs without a partner are not compared."""
    yield f"{name}.count", len(ours), len(theirs)
    for mine, other in zip(ours, theirs):
        for field in mine.fields:
            if field in ignore or (field == "tag" and _tag_is_free(mine)):
                continue
            yield f"{name}.{field}", mine.fields[field], other.fields[field]
        yield f"{name}.keep", mine.keep, other.keep
        yield f"{name}.payload", enabled_bytes(mine).hex(), enabled_bytes(other).hex()


def _tag_is_free(packet: Packet) -> bool:
    """Return whether the packet is a read of the host, whose tag the root complex chose.

    The root complex may take any free tag. That the completion echoes the tag is checked with CC.
    """
    return packet.channel == "CQ" and packet.type == READ


def _reads(ours: list, theirs: list) -> Iterator[tuple]:
    """Yield (name, ours, theirs) for each fact about each of the card's reads, taken from all its
    completions together."""
    yield "rc.reads", len(ours), len(theirs)
    nothing = {"faults": ("no completion",)}
    for mine, other in zip_longest(ours, theirs, fillvalue=nothing):
        for name in mine:
            yield f"rc.{name}", mine.get(name), other.get(name)
