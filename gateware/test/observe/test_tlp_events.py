# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of observe/tlp_events.py, which counts TLPs and payload in streams with PG213's
descriptors.
"""

import random

import pytest
from litex.soc.interconnect import stream
from migen import passive

from gateware import numbers
from gateware.observe.tlp_events import CompletionEvents, RequestEvents, StraddledEvents
from gateware.vocabulary import layouts
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, wait

TLPS = 300
LANES = numbers.DWORDS_PER_BEAT
HALF = LANES // 2

# Random TLPs and their beats ----------------------------------------------------------------------


def request(rng):
    """Return the dwords of a random request TLP (descriptor and payload), and its payload
    in bytes.
    """
    dwords, write = rng.choice([1, 2, 4, 5, 12, 13, 64]), rng.random() < 0.5
    payload = [rng.randrange(2**32) for _ in range(dwords if write else 0)]
    return [0, 0, dwords | write << 11, 0, *payload], 4 * len(payload)


def completion(rng):
    """Return the dwords of a random completion TLP (descriptor and payload), and its payload in
    bytes.
    """
    payload = [rng.randrange(2**32) for _ in range(rng.choice([0, 1, 2, 5, 6, 13, 16, 64]))]
    return [0, len(payload), 0, *payload], 4 * len(payload)


def separate_beats(tlps):
    """Yield the beats of TLPs as (dwords, {flag: value}). Each TLP begins in a beat of its own."""
    for tlp in tlps:
        for start in range(0, len(tlp), LANES):
            yield tlp[start : start + LANES], {"last": start + LANES >= len(tlp)}


def straddled_beats(tlps):
    """Yield beats (dwords, {flag: value}) of straddled TLPs.

    A TLP begins at dword 0, or at dword 4 of the beat in which the previous TLP ends.
    """
    tlps = list(tlps)
    beat, flags = [], {}
    for index, tlp in enumerate(tlps):
        if beat:
            beat += [0] * (HALF - len(beat))
        flags["start_1" if "start_0" in flags else "start_0"] = 1
        while tlp:
            room = LANES - len(beat)
            beat, tlp = beat + tlp[:room], tlp[room:]
            if not tlp:
                flags["end_1" if "end_0" in flags else "end_0"] = 1
            if tlp or len(beat) > HALF or "end_1" in flags or index == len(tlps) - 1:
                yield beat, flags
                beat, flags = [], {}


@passive
def drive(endpoint, beats, rng):
    """Offer beats on a stream with random gaps, and drive its `ready` at random."""
    for dwords, flags in beats:
        while rng.random() < 0.3:
            yield endpoint.valid.eq(0)
            yield endpoint.ready.eq(rng.random() < 0.5)
            yield
        yield endpoint.valid.eq(1)
        yield endpoint.data.eq(sum(dword << 32 * lane for lane, dword in enumerate(dwords)))
        for name in ("last", "start_0", "start_1"):
            if hasattr(endpoint, name):
                yield getattr(endpoint, name).eq(flags.get(name, 0))
        for name in ("end_0", "end_1"):
            if hasattr(endpoint, name):
                yield getattr(endpoint, name).valid.eq(flags.get(name, 0))
        while rng.random() < 0.3:
            yield endpoint.ready.eq(0)
            yield
        yield endpoint.ready.eq(1)
        yield
    yield endpoint.valid.eq(0)
    yield from wait(10)


def count(dut_class, layout, make, pack, seed):
    """Send TLPs past the counting hardware. Return [TLPs, payload bytes, beats] as counted and as
    sent.
    """
    rng = random.Random(seed)
    tlps = [make(rng) for _ in range(TLPS)]
    beats = list(pack([dwords for dwords, _ in tlps]))
    endpoint = stream.Endpoint(layout())
    dut = dut_class(endpoint)
    totals = [0, 0, 0]

    def watch():
        while totals[2] < len(beats):
            for index, signal in enumerate((dut.tlps, dut.payload, dut.beat)):
                totals[index] += yield signal
            yield

    simulate(dut, [drive(endpoint, beats, rng), watch()])
    return totals, [TLPS, sum(payload for _, payload in tlps), len(beats)]


def starting_beats(tlps):
    """Yield beats like separate_beats(), with RC's flag `start_0` in the beat in which a TLP
    begins.
    """
    first = True
    for dwords, flags in separate_beats(tlps):
        yield dwords, {**flags, "start_0": first}
        first = flags["last"]


# Tests of the counting classes --------------------------------------------------------------------


@each_seed(2)
@pytest.mark.parametrize(
    "dut_class, layout, make, pack",
    [
        (RequestEvents, layouts.rq_layout, request, separate_beats),
        (RequestEvents, layouts.cq_layout, request, separate_beats),
        (CompletionEvents, layouts.cc_layout, completion, separate_beats),
        (StraddledEvents, layouts.rc_layout, completion, starting_beats),
        (StraddledEvents, layouts.rc_layout, completion, straddled_beats),
    ],
)
def test_every_tlp_and_every_payload_byte_is_counted_once(dut_class, layout, make, pack, seed):
    """TLPs, payload bytes and beats are counted once each, also while valid or ready is low.

    That holds for TLPs that begin in the middle of the beat in which another one ends, too.
    """
    counted, sent = count(dut_class, layout, make, pack, seed)
    assert counted == sent
