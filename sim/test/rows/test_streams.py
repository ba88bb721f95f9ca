# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/streams.py, whose throughputs neither software nor other processes on the
machine can change."""

import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from sim import bench
from sim.clients.vfio import VfioClient
from sim.errors import TestFailed
from sim.rows import held, idle_reads, limits, measure, peer, streams
from sim.rows.measure import Conditions
from sim.rows.streams import Job
from sim.test.board.board_builds import build_executable, build_gateware

BUSY = 6  # number of processes that together use all of the machine's CPU time
SHORT = 1 << 15  # device cycles of a short window in which a rate is measured
BOTH = ("c2h", "h2c")


def run(job, *more, **conditions):
    return run_at(Conditions(**conditions), job, *more)


def run_at(at, job, *more):
    return streams.measure(build_executable(), build_gateware() / "csr.json", at, job, *more)


@contextmanager
def busy_machine():
    """Run BUSY processes that use all CPU time of the machine while the body of the `with` runs."""
    command = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(command) for _ in range(BUSY)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@pytest.mark.parametrize("ways", [("c2h",), ("h2c",), BOTH])
def test_streams_run_at_the_limit_with_no_access_of_the_host(ways):
    """Streams reach 99 % of their limit with right data and without a broken rule. In the measured
    window the host makes no access."""
    report, at, violations = run(Job(ways, window=SHORT))
    assert report["window"]["cq"]["tlps"] == 0 and violations == 0
    assert report["window"]["cycles"] == SHORT
    row = {1: getattr(measure, ways[0]), 2: measure.duplex}[len(ways)](report, at, violations)
    assert 0.99 <= row.ratio < 1.0005


# Each row of small transfers or slow hosts has (direction, descriptor size in bytes, conditions,
# least share of the limit). The conditions are those of sim/bench.py.
FAR = {"rcb": 128, "read_latency_ns": 5000}
LEAST_READS = {"mrrs": 128, "completion_size": 128, "read_latency_ns": 2000}
LATE = {"read_latency_ns": 1500, "late_percent": 3, "late_ns": 5000}
REACHES = {
    **{f"small/c2h/{size}": ("c2h", size, {}, 0.99) for size in bench.SMALL},
    **{
        f"small/h2c/{size}{suffix}": ("h2c", size, {"read_latency_ns": latency}, 0.97)
        for suffix, latency in (("@0.6us", 600), ("@1.5us", 1500))
        for size in bench.SMALL
    },
    "small/h2c/64@5us": ("h2c", 64, {"read_latency_ns": 5000}, 0.97),
    **{f"h2c/cpl256@5us/rcb128/desc{size}": ("h2c", size, FAR, 0.97) for size in (256, 4096)},
    "h2c/cpl128@2us/mrrs128": ("h2c", streams.BUFFER, LEAST_READS, 0.98),
    "h2c/cpl256@1.5us/late3": ("h2c", 4096, LATE, 0.98),
}


@pytest.mark.parametrize("name", REACHES)
def test_small_transfers_and_slow_hosts_reach_their_share_of_the_limit(name):
    """With small transfers, and with slow hosts, streams reach the share of the limit that REACHES
    has for them. No rule is broken, so RC is never held off."""
    way, size, conditions, least = REACHES[name]
    # If the host answers some reads late, the window of the measurement is long enough for 400 of
    # them.
    window = streams.WINDOW if "late_percent" in conditions else SHORT
    found = run(Job((way,), size, window=window), **conditions)
    row = measure.small(*found, name, size)
    print(row.ratio, row.binds)
    assert least <= row.ratio < 1.0005 and row.violations == 0


def test_each_direction_apart_is_at_its_limit():
    """If h2c and c2h have DMA descriptors of their own (no loopback), each direction is at its
    limit: the card's reads do not wait for its writes."""
    for row in measure.duplex_apart(*run(Job(BOTH, window=1 << 17), mps=512)):
        print(row.id, row.ratio)
        assert 0.99 <= row.ratio < 1.0005 and row.violations == 0


def test_the_card_tells_at_next_to_no_cost():
    """Records and status lines cost at most 0.5 % of the rate with buffers of 64 KiB, and 1.2 %
    with 8 KiB. Small packets with records reach 99.5 % of their limit."""
    found = {row.id: row for row in held.rows(lambda at, job: run_at(at, job), Conditions())}
    print({name: round(row.ratio, 4) for name, row in found.items()})
    assert len(found) == 15 and all(row.violations == 0 for row in found.values())
    for name, row in found.items():
        least = 0.995 if name.startswith("told/") or "/64K" in name else 0.988
        assert least <= row.ratio < 1.0005, name


HELD = Job(("c2h",), window=SHORT, told=True, held=True)


def test_wrong_data_that_was_told_of_is_no_number():
    """A flipped bit in a c2h buffer that the card has announced by a record ends the measurement
    with an error."""
    with pytest.raises(TestFailed, match="wrong"):
        run(HELD, "--fault", "flip-c2h:2000")


def test_a_wrong_record_is_no_number(monkeypatch):
    """A record (the card's report of a finished buffer) with a wrong length ends the measurement
    with an error."""
    agree = streams.Stream._agree

    def spoil(self):
        agree(self)
        self.notices[streams.RECORDS] ^= 1

    monkeypatch.setattr(streams.Stream, "_agree", spoil)
    with pytest.raises(TestFailed, match="record 1 is"):
        run(HELD)


def test_a_table_that_ends_in_the_window_is_no_number():
    """A held job whose descriptor table runs out within the window is an error, because the job
    must measure a card that always has descriptors."""
    with pytest.raises(TestFailed, match="had ended"):
        run(replace(HELD, window=1 << 17))


def test_a_loopback_returns_what_it_fetched():
    """After a measurement of the loopback, the c2h ring has the data of the h2c ring."""
    report, _, _ = run(Job(BOTH, loopback=True))
    assert report["direction"] == "loopback"
    assert report["c2h"]["compared_bytes"] == 256 * 8192


@pytest.mark.parametrize(
    "job, fault",
    [
        (Job(("c2h",)), "flip-c2h:25000"),
        (Job(("h2c",)), "flip-h2c:4000"),
        (Job(BOTH, loopback=True), "flip-c2h:25000"),
    ],
)
def test_wrong_data_is_no_number(job, fault):
    """A bit flipped in c2h's last turn through its ring, or in h2c's first, ends the measurement
    with an error."""
    with pytest.raises(TestFailed, match="wrong"):
        run(job, "--fault", fault)


def test_the_cards_counters_are_compared_with_the_models(monkeypatch):
    """If the card's counters disagree with what passed its pins, the measurement ends with an
    error."""
    counter = streams.Stream.counter
    monkeypatch.setattr(streams.Stream, "counter", lambda self, name: counter(self, name) + 64)
    with pytest.raises(TestFailed, match="passed its pins"):
        run(Job(("c2h",), window=SHORT))


def test_a_board_that_is_late_is_refused(monkeypatch):
    """If the card is set up only after the planned start of the measured window, the run is
    refused."""
    monkeypatch.setattr(streams, "START", 100)
    with pytest.raises(Exception, match="is not ahead"):
        run(Job(("c2h",), window=SHORT))


def test_a_slow_client_changes_nothing(monkeypatch):
    """Pauses of the client between the messages that set the card up change no count of the
    measurement."""
    send, job = VfioClient.send, Job(("h2c",), 512, window=SHORT)
    free, _, _ = run(job)

    def slowly(self, *arguments, **more):
        time.sleep(0.01)
        return send(self, *arguments, **more)

    monkeypatch.setattr(VfioClient, "send", slowly)
    held, _, _ = run(job)
    assert held == free


@pytest.mark.soak
@pytest.mark.parametrize(
    "job, conditions, more",
    [
        (Job(("c2h",)), {}, ()),
        (Job(("h2c",)), {"mps": 512, "completion_size": 512}, ("--link-rate", "off")),
        (Job(("h2c",), 64), {}, ()),
        (Job(("h2c",), 4096), {"read_latency_ns": 1500, "late_percent": 3, "late_ns": 5000}, ()),
        (Job(BOTH), {"mps": 512}, ()),
        (HELD, {}, ()),
    ],
)
def test_a_busy_machine_changes_no_digit(job, conditions, more):
    """Reports of streams are equal, to the last digit, on an idle machine and beside six processes
    that use all CPU time."""
    free = run(job, *more, **conditions)
    with busy_machine():
        assert run(job, *more, **conditions) == free


def p2p_read(board, csr, at):
    with peer.Bar(board, csr, at) as bar:
        return bar.read_row("p2p_read", bar.memory, 64, limits.cc(64, at.mps))


@pytest.mark.soak
@pytest.mark.parametrize("measured", [p2p_read, idle_reads.cycles])
def test_a_busy_machine_changes_no_read_of_the_card(measured):
    """The cycles of a peer's reads, and of single host reads, are the same on an idle machine and
    on a busy one."""
    place = build_executable(), build_gateware() / "csr.json", Conditions()
    free = measured(*place)
    with busy_machine():
        assert measured(*place) == free


def test_descriptors_lie_in_as_few_pages_as_they_can():
    """DMA descriptors of at most a page are placed so that none crosses a page boundary."""
    for size in (64, 1504, 4096, 8192):
        stride = Job(("c2h",), size).stride
        assert stride >= size
        assert all(n * stride // 4096 == (n * stride + size - 1) // 4096 for n in range(8)) or (
            size > 4096
        )


def test_the_pattern_counts_dwords_and_wraps():
    """pattern() gives dwords that count: dword i is i modulo 2^32. A call may begin at any byte of
    the stream."""
    assert streams.pattern(8, 8) == bytes([2, 0, 0, 0, 3, 0, 0, 0])
    assert streams.pattern(4 * (2**32 - 1), 8) == b"\xff\xff\xff\xff\0\0\0\0"


def test_what_a_ring_holds_goes_by_what_was_sent():
    """A ring has the data of its present turn up to what was sent. Behind that it has the data of
    the turn before, or zeros in the first turn."""
    stream = streams.Stream(None, build_gateware() / "csr.json", Conditions(), Job(("c2h",), 64))
    ring = 256 * 64
    assert stream._wanted(128, 128) == bytes(64)
    assert stream._wanted(128, 160) == streams.pattern(128, 32) + bytes(32)
    assert stream._wanted(128, ring) == streams.pattern(128, 64)
    half = streams.pattern(128 + ring, 32) + streams.pattern(160, 32)
    assert stream._wanted(128, ring + 160) == half
    assert stream._wanted(128, 5 * ring) == streams.pattern(4 * ring + 128, 64)
