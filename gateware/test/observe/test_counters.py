# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of observe/counters.py, which counts TLPs, payload bytes, beats and stalls of PCIe
streams.
"""

import random
from types import SimpleNamespace

import pytest
from litepcie.common import phy_layout
from litepcie.tlp.common import fmt_type_dict
from litex.soc.interconnect import stream
from migen import passive

from gateware.numbers import DATA_WIDTH
from gateware.observe.counters import COUNTERS, PcieCounters
from gateware.observe.device_time import DeviceTime
from gateware.observe.tlp_events import HeaderEvents
from tools.testing.csr_model import CsrBench
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, wait

STREAMS = ("cq", "rq")
BEAT_BYTES = DATA_WIDTH // 8

# A reference model of the counters ----------------------------------------------------------------


def random_tlp(rng):
    """Return a random TLP for the counters: its header's first dword, its number of beats, and its
    payload in bytes.
    """
    kind = rng.choice(["mem_rd32", "mem_rd64", "mem_wr32", "mem_wr64", "cpld", "cpl"])
    dwords = rng.choice([1, 2, 8, 32, 64, 128, 256, 1023, 1024])
    payload = 4 * dwords if kind in ("mem_wr32", "mem_wr64", "cpld") else 0
    ignored = rng.randrange(2**14) << 10
    header = fmt_type_dict[kind] << 24 | ignored | dwords % 1024
    # The test's TLP may have fewer beats than its payload needs, which keeps the test short. The
    # counters take the payload's length from the header, so the number of beats must not matter.
    return SimpleNamespace(header=header, payload=payload, beats=rng.randrange(1, 4))


def offer_tlps(endpoint, tlps, rng, density):
    """Offer the TLPs `tlps` on a stream with random gaps. `density` is the share of the cycles in
    which a beat is offered.
    """
    for tlp in tlps:
        for beat in range(tlp.beats):
            while rng.random() >= density:
                yield
            # The later beats of a TLP begin with a dword that would count as a TLP if it were taken
            # for a header.
            dword = tlp.header if beat == 0 else 0x7FFF_FFFF
            yield endpoint.dat.eq(rng.randrange(2 ** (DATA_WIDTH - 32)) << 32 | dword)
            yield endpoint.last.eq(beat == tlp.beats - 1)
            yield endpoint.valid.eq(1)
            yield
            while not (yield endpoint.ready):
                yield
            yield endpoint.valid.eq(0)


@passive
def be_ready(endpoint, rng, density):
    while True:
        yield endpoint.ready.eq(rng.random() < density)
        yield


@passive
def record(endpoint, time, tlps, events):
    """Append (device time, name of the counter, increment) to `events` for each event on the
    stream.
    """
    tlps, beats_left = iter(tlps), 0
    while True:
        now = yield time
        if (yield endpoint.valid) and not (yield endpoint.ready):
            events.append((now, "stalls", 1))
        if (yield endpoint.valid) and (yield endpoint.ready):
            events.append((now, "beats", 1))
            if beats_left == 0:
                tlp = next(tlps)
                beats_left = tlp.beats
                events.append((now, "tlps", 1))
                events.append((now, "payload_bytes", tlp.payload))
            beats_left -= 1
        yield


def expected(events, start, end):
    """Return the values that the counters must have for events at device times from `start` to
    before `end`.
    """
    inside = [event for event in events if start <= event[0] < end]
    times = [time for time, counter, _ in inside if counter == "beats"]
    counts = {
        counter: sum(event[2] for event in inside if event[1] == counter)
        for counter in ("beats", "stalls", "tlps", "payload_bytes")
    }
    return {**counts, "first": min(times, default=0), "last": max(times, default=0)}


def run(seed, tlp_count, snapshots):
    """Run random traffic on both streams while `snapshots(dut, rng)` runs. Return each stream's
    events.
    """
    rng = random.Random(seed)
    clock = DeviceTime(with_csr=False)
    streams = {name: stream.Endpoint(phy_layout(DATA_WIDTH)) for name in STREAMS}
    watched = {name: HeaderEvents(endpoint) for name, endpoint in streams.items()}
    dut = PcieCounters(watched, clock.time, with_csr=False)
    dut.submodules += clock
    events, traffic = {}, []
    for name, endpoint in streams.items():
        tlps = [random_tlp(rng) for _ in range(tlp_count)]
        events[name] = []
        traffic += [
            offer_tlps(endpoint, tlps, random.Random(rng.random()), rng.choice([0.3, 0.9, 1])),
            be_ready(endpoint, random.Random(rng.random()), rng.choice([0.3, 0.9, 1])),
            record(endpoint, clock.time, tlps, events[name]),
        ]
    simulate(dut, [*traffic, snapshots(dut, rng)])
    return events


def snapshot(dut, clear):
    """Take a snapshot of the counters, and clear them if `clear` is set. Return the copied values
    by name.
    """
    yield dut.snapshot.eq(1)
    yield dut.clear.eq(clear)
    yield
    yield dut.snapshot.eq(0)
    yield dut.clear.eq(0)
    yield
    yield
    values = {}
    for name, latched in dut.latched.items():
        values[name] = yield latched
    return values


# Properties of the counters -----------------------------------------------------------------------


@each_seed(4)
def test_counters_equal_reference_model(seed):
    """A snapshot of the counters has exactly the events after the last clear and before the
    snapshot's time.
    """
    taken = []

    def snapshots(dut, rng):
        for _ in range(80):
            yield from wait(rng.randrange(12))
            clear = rng.random() < 0.5
            taken.append((clear, (yield from snapshot(dut, clear))))

    events = run(seed, 200, snapshots)
    start = 0
    for clear, values in taken:
        for name in STREAMS:
            found = {counter: values[f"{name}_{counter}"] for counter in COUNTERS}
            assert found == expected(events[name], start, values["time"]), name
        if clear:
            start = values["time"]


@each_seed(2)
def test_nothing_is_lost_between_intervals(seed):
    """If every snapshot also clears the counters, the counts of all snapshots add up to all
    events.
    """
    taken = []

    def snapshots(dut, rng):
        for _ in range(30):
            yield from wait(rng.randrange(10))
            taken.append((yield from snapshot(dut, clear=1)))
        yield from wait(400)
        taken.append((yield from snapshot(dut, clear=1)))

    events = run(seed, 40, snapshots)
    for name in STREAMS:
        everything = expected(events[name], 0, taken[-1]["time"])
        for counter in ("beats", "stalls", "tlps", "payload_bytes"):
            assert sum(values[f"{name}_{counter}"] for values in taken) == everything[counter]


def test_clear_keeps_the_copy():
    """A clear of the counters without a snapshot leaves the last snapshot's values readable."""
    taken = []

    def snapshots(dut, rng):
        yield from wait(200)
        taken.append((yield from snapshot(dut, clear=0)))
        yield dut.clear.eq(1)
        yield
        yield dut.clear.eq(0)
        yield from wait(3)
        for name, latched in dut.latched.items():
            assert (yield latched) == taken[0][name], name

    run(0, 20, snapshots)
    assert taken[0]["cq_beats"] > 0 and taken[0]["rq_beats"] > 0


@pytest.mark.parametrize(
    "control, latches, clears", [(1, True, False), (2, False, True), (3, True, True)]
)
def test_control_register_pulses_once(control, latches, clears):
    """A write to the counters' control register takes one snapshot (bit 0) or clears once (bit 1).

    Neither bit stays set.
    """
    endpoint = stream.Endpoint(phy_layout(DATA_WIDTH))
    clock = DeviceTime(with_csr=False)
    bench = CsrBench(PcieCounters({"rq": HeaderEvents(endpoint)}, clock.time))
    bench.submodules += clock
    snapshots, clear_pulses = [], []

    @passive
    def count():
        while True:
            snapshots.append((yield bench.dut.snapshot))
            clear_pulses.append((yield bench.dut.clear))
            yield

    def use():
        yield endpoint.valid.eq(1)
        yield endpoint.ready.eq(1)
        yield from wait(20)
        yield endpoint.valid.eq(0)
        yield from wait(5)
        yield from bench.write("control", control)
        yield from wait(5)
        assert (yield from bench.read("rq_beats")) == (20 if latches else 0)
        yield from bench.write("control", 1)
        yield from wait(3)
        assert (yield from bench.read("rq_beats")) == (0 if clears else 20)

    simulate(bench, [use(), count()])
    assert sum(snapshots) == (2 if latches else 1)
    assert sum(clear_pulses) == (1 if clears else 0)
