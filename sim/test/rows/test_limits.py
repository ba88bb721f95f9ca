# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that sim/rows/limits.py, the limits of throughput and latency, agrees with the design for
Gen3 x8."""

import pytest

from sim.rows import limits

# Rates from the design's table, as {payload in bytes: GB/s of (c2h, h2c without straddle, h2c with
# straddle)}.
DESIGN = {
    64: (5.33, 5.33, 5.93),
    128: (6.40, 6.40, 6.73),
    256: (7.11, 7.11, 7.22),
    512: (7.42, 7.48, 7.48),
}


def mps_of(payload):
    return max(256, payload)


@pytest.mark.parametrize("payload", DESIGN)
def test_streams_match_the_design_table(payload):
    """c2h() and h2c() give the design's limits at an MPS of max(256, size) bytes. c2h of 128 bytes
    is taken at MPS 128."""
    write, plain, straddled = DESIGN[payload]
    mps = 128 if payload == 128 else mps_of(payload)
    assert limits.c2h(payload, mps).value == pytest.approx(write, abs=0.01)
    reads = {"tags": 64, "mrrs": 512, "rtt_ns": 600}
    assert limits.h2c(payload, mps_of(payload), **reads).value == pytest.approx(plain, abs=0.01)
    got = limits.h2c(payload, mps_of(payload), **reads, straddle=True)
    assert got.value == pytest.approx(straddled, abs=0.015)


@pytest.mark.parametrize("payload, most", [(64, 25.6), (128, 28.4), (256, 30.1), (512, 31.0)])
def test_without_the_link_only_the_pins_bind_reads(payload, most):
    """h2c_interface() counts a completion with straddle as whole half beats for 12 bytes of
    descriptor and its data."""
    limit = limits.h2c_interface(payload)
    assert limit.value == pytest.approx(most, abs=0.05) and limit.binds == "interface"


def test_duplex_is_bound_by_the_request_interface():
    """duplex() takes 19 beats of RQ for 512 bytes each way. That makes 6.74 GB/s, which is below
    the link's 6.82 GB/s."""
    limit = limits.duplex(256, 512)
    assert (round(limit.value, 2), limit.binds) == (6.74, "interface")


@pytest.mark.parametrize("mps", [128, 256, 512])
def test_duplex_is_a_share_of_what_is_read(mps):
    """duplex_share() with share 1 is duplex(), with share 0 has read requests only, and falls with
    the share."""
    one, both = limits.duplex_share(mps, 512, 1), limits.duplex(mps, 512)
    assert one.value == pytest.approx(both.value) and one.binds == both.binds
    assert limits.duplex_share(mps, 512, 0).value > 2 * limits.RAW
    rates = [limits.duplex_share(mps, 512, share / 4).value for share in range(9)]
    assert rates == sorted(rates, reverse=True)


def test_reads_in_flight_bind_when_the_round_trip_is_long():
    """h2c() has 16 tags with reads of 512 bytes over a round trip of 2 us. These reads in flight
    limit the rate to 4.1 GB/s."""
    limit = limits.h2c(256, 256, tags=16, mrrs=512, rtt_ns=2000)
    assert limit.binds == "reads in flight"
    assert limit.value == pytest.approx(8192 / 2000)


def test_small_writes_are_bound_by_one_tlp_a_beat():
    """By mmio_write() the limit of host writes of 4 bytes is one write in each beat of 4 ns."""
    assert limits.mmio_write(4, 256) == limits.Limit(1.0, "interface")


def test_writes_below_4_gib_have_a_shorter_header():
    """mmio_write(): below 4 GiB the header is 4 bytes shorter, so that writes of 8 bytes are
    limited by the interface, and not by the link."""
    assert limits.mmio_write(8, 256).binds == "wire"
    assert limits.mmio_write(8, 256, below_4_gib=True) == limits.Limit(2.0, "interface")
    short, long = (limits.mmio_write(512, 512, below_4_gib=form).value for form in (True, False))
    assert short / long == pytest.approx((512 + 24) / (512 + 20))


def test_a_transfer_cannot_beat_its_round_trip_and_its_beats():
    """transfer_ns() counts the host's round trip and the beats of the transfer's TLPs on RQ.

    These are 3 beats for 64 bytes, 16 TLPs of 9 beats for 4 KiB at MPS 256, and 32 TLPs of 5 beats
    at MPS 128.
    """
    times = [limits.transfer_ns(600, *at).value for at in ((256, 64), (256, 4096), (128, 4096))]
    assert times == pytest.approx([612, 600 + 16 * 36, 600 + 32 * 20])


def test_an_mmio_read_cannot_beat_its_round_trip():
    """mmio_read_ns(): the least time of an MMIO read includes the host's round trip."""
    fast, slow = (limits.mmio_read_ns(rtt, 256, 4).value for rtt in (700, 1700))
    assert fast > 700
    assert slow - fast == pytest.approx(1000)


def test_small_writes_by_hand():
    """small_c2h() limits small c2h descriptors by their beats on RQ, as in PG213: 3 beats for 64
    bytes, 53 beats for 1504 bytes at MPS 256."""
    beats = {64: 3, 128: 5, 256: 9, 512: 18, 1504: 53}
    for size, count in beats.items():
        limit = limits.small_c2h(size, 256)
        assert limit == limits.Limit(pytest.approx(size / (4 * count)), "interface")
    assert limits.small_c2h(512, 512).binds == "wire"
    assert limits.small_c2h(512, 512).value == limits.c2h(512, 512).value


def test_what_is_told_of_messages_takes_beats_of_rq():
    """told_c2h() counts records and status lines: 16 packets of 64 bytes take 48 beats of RQ, and
    their records 9 more at MPS 256. A status line takes 2 of 1024 cycles."""
    for mps, beats in ((256, 48 + 9), (128, 48 + 10)):
        limit = limits.told_c2h(64, mps)
        value = 64 * 16 / (beats * 4) * 1022 / 1024
        assert limit == limits.Limit(pytest.approx(value), "interface")


def test_the_wire_takes_24_bytes_for_each_small_write(monkeypatch):
    """small_c2h() counts 24 bytes of overhead for each TLP on the link. 1504 bytes are six TLPs,
    which makes 144 bytes."""
    monkeypatch.setattr(limits, "CYCLE_NS", 0.001)
    limit = limits.small_c2h(1504, 256)
    raw = limits.RAW * (1 - limits.DLLP_AND_SKIP_TAX[256])
    assert limit == limits.Limit(pytest.approx(raw * 1504 / (1504 + 144)), "wire")


def test_small_reads_by_hand():
    """small_h2c(): each completion has 20 bytes of overhead on the link, and takes whole half beats
    of RC."""
    raw = limits.RAW * (1 - limits.DLLP_AND_SKIP_TAX[256])
    small, long = (limits.small_h2c(size, 256, 256, 512, 600) for size in (64, 1504))
    assert small == limits.Limit(pytest.approx(raw * 64 / 84), "wire")
    assert long == limits.Limit(pytest.approx(raw * 1504 / (1504 + 6 * 20)), "wire")
    plain = limits.small_h2c(64, 256, 256, 512, 600, straddle=False)
    assert plain == limits.Limit(pytest.approx(64 / 12), "interface")


@pytest.mark.parametrize(
    "size, rcb, tags, in_flight",
    [
        # The limit is completion data space. Each read takes 2 completion headers.
        (256, 128, 256, 128 * 256),
        (4096, 128, 256, 64 * 512),
        (256, 64, 256, 64 * 256),  # The limit is completion headers, of which each read takes 4.
        (64, 64, 256, 256 * 64),
        (64, 64, 64, 64 * 64),
        (96, 64, 256, 128 * 96),  # The limit is completion headers, of which each read takes 2.
        (1504, 128, 32, 32 / 3 * 1504),  # The limit is tags, of which each descriptor takes 3.
    ],
)
def test_tags_and_completion_space_bound_reads_far_away(size, rcb, tags, in_flight):
    """small_h2c(): over a round trip of 20 us, tags, completion headers or completion data limit
    the rate."""
    limit = limits.small_h2c(size, 256, 256, 512, 20_000, tags, rcb=rcb)
    assert limit == limits.Limit(pytest.approx(in_flight / 20_000), "reads in flight")


def test_a_read_of_one_dword_is_bound_by_its_request():
    """small_h2c(): reads of one dword are limited by their requests, a beat of RQ each: 4 B in each
    cycle."""
    assert limits.small_h2c(4, 256, 256, 512, 0).value == pytest.approx(1)
    assert limits.small_h2c(4, 256, 256, 512, 0).binds == "read requests"


def test_large_descriptors_have_the_limit_of_streams():
    """small_c2h() and small_h2c() for descriptors of whole TLPs give the limits of c2h() and
    h2c()."""
    for mps in (128, 256, 512):
        assert limits.small_c2h(8192, mps) == limits.c2h(mps, mps)
        small = limits.small_h2c(8192, mps, mps, 512, 600)
        assert small.value == limits.h2c(mps, mps, 256, 512, 600, straddle=True).value


def test_directions_apart_share_requests_and_wire():
    """duplex_apart(), with different descriptors for the directions: at MPS 512 the link limits h2c
    to 7.48 GB/s. Its read requests leave at least 7.09 GB/s for c2h."""
    c2h, h2c = limits.duplex_apart(512, 512, 512)
    assert (round(c2h.value, 2), round(h2c.value, 2), h2c.binds) == (7.09, 7.48, "wire")
    raw = limits.RAW * (1 - limits.DLLP_AND_SKIP_TAX[512])
    left = (raw - h2c.value * 24 / 512) * 512 / 536
    # The limit of c2h is 7.087 GB/s. The beats of RQ alone would allow 7.090 GB/s.
    assert c2h == limits.Limit(pytest.approx(left), "wire")
    alone = limits.duplex_apart(512, 512, 512, 1e-9)[0]
    assert alone.value == pytest.approx(limits.c2h(512, 512).value)
    assert c2h.value < limits.duplex_apart(512, 512, 512, 7.0)[0].value < alone.value
    # At MPS 256, RQ has 250 million beats a second. A read request of 512 bytes takes one beat, and
    # a write nine.
    both = limits.duplex_apart(256, 512, 256)[0]
    rate = limits.h2c(256, 256, 256, 512, 0, straddle=True).value
    assert both == limits.Limit(pytest.approx((0.25 - rate / 512) * 256 / 9), "interface")


@pytest.mark.parametrize(
    "size, mps, bytes_a_cycle, binds",
    [
        (64, 128, 25.5, "interface"),
        (64, 256, 28.35, "interface"),
        (64, 512, 29.5, "wire"),
        (69, 128, 25.5, "interface"),
        (69, 256, 26.0, "builder"),
        (1518, 128, 25.5, "interface"),
    ],
)
def test_capture_is_bound_by_builder_or_link(size, mps, bytes_a_cycle, binds):
    """A record of a frame of 69 bytes is 104 bytes, which take four beats: 26 bytes a cycle. The
    other cases are limited by TLPs of MPS bytes and a status line of two beats for each 16 KiB."""
    limit = limits.capture(size, mps)
    assert limit.binds == binds
    assert limit.value * limits.CYCLE_NS == pytest.approx(bytes_a_cycle, rel=0.005)
