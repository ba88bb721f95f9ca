# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""sim/limits.py against the figures that the design states for Gen3 x8."""

import pytest

from sim import limits

# payload: limits of c2h, and of h2c without and with straddle, in GB/s as the design prints them.
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
    """The limits agree with the design, with MPS = max(256, size) but 128 for c2h of 128 B."""
    write, plain, straddled = DESIGN[payload]
    mps = 128 if payload == 128 else mps_of(payload)
    assert limits.c2h(payload, mps).value == pytest.approx(write, abs=0.01)
    reads = {"tags": 64, "mrrs": 512, "rtt_ns": 600}
    assert limits.h2c(payload, mps_of(payload), **reads).value == pytest.approx(plain, abs=0.01)
    got = limits.h2c(payload, mps_of(payload), **reads, straddle=True)
    assert got.value == pytest.approx(straddled, abs=0.015)


@pytest.mark.parametrize("payload, most", [(64, 25.6), (128, 28.4), (256, 30.1), (512, 31.0)])
def test_without_the_link_only_the_pins_bind_reads(payload, most):
    """With straddle a completion takes whole half beats, for 12 bytes and its data."""
    limit = limits.h2c_interface(payload)
    assert limit.value == pytest.approx(most, abs=0.05) and limit.binds == "interface"


def test_duplex_is_bound_by_the_request_interface():
    """512 B each way take 19 beats of RQ: 6.74 GB/s, which is below the wire's 6.82."""
    limit = limits.duplex(256, 512)
    assert (round(limit.value, 2), limit.binds) == (6.74, "interface")


@pytest.mark.parametrize("mps", [128, 256, 512])
def test_duplex_is_a_share_of_what_is_read(mps):
    """duplex_share() is duplex() for share 1, read requests alone for 0, and falls as it grows."""
    one, both = limits.duplex_share(mps, 512, 1), limits.duplex(mps, 512)
    assert one.value == pytest.approx(both.value) and one.binds == both.binds
    assert limits.duplex_share(mps, 512, 0).value > 2 * limits.RAW
    rates = [limits.duplex_share(mps, 512, share / 4).value for share in range(9)]
    assert rates == sorted(rates, reverse=True)


def test_reads_in_flight_bind_when_the_round_trip_is_long():
    """16 tags of 512 B over a round trip of 2 us limit h2c to 4.1 GB/s."""
    limit = limits.h2c(256, 256, tags=16, mrrs=512, rtt_ns=2000)
    assert limit.binds == "reads in flight"
    assert limit.value == pytest.approx(8192 / 2000)


def test_small_writes_are_bound_by_one_tlp_a_beat():
    """One MMIO write of 4 bytes can arrive in each beat of 4 ns."""
    assert limits.mmio_write(4, 256) == limits.Limit(1.0, "interface")


def test_writes_below_4_gib_have_a_shorter_header():
    """Writes below 4 GiB have 4 bytes less of header, so at 8 bytes the interface binds."""
    assert limits.mmio_write(8, 256).binds == "wire"
    assert limits.mmio_write(8, 256, below_4_gib=True) == limits.Limit(2.0, "interface")
    short, long = (limits.mmio_write(512, 512, below_4_gib=form).value for form in (True, False))
    assert short / long == pytest.approx((512 + 24) / (512 + 20))


def test_a_transfer_cannot_beat_its_round_trip_and_its_beats():
    """A transfer takes the round trip and its RQ beats.

    These are 3 beats for 64 B, 16 TLPs of 9 beats for 4 KiB at MPS 256, and 32 of 5 at MPS 128.
    """
    times = [limits.transfer_ns(600, *at).value for at in ((256, 64), (256, 4096), (128, 4096))]
    assert times == pytest.approx([612, 600 + 16 * 36, 600 + 32 * 20])


def test_an_mmio_read_cannot_beat_its_round_trip():
    """The least time of an MMIO read includes the host's round trip."""
    fast, slow = (limits.mmio_read_ns(rtt, 256, 4).value for rtt in (700, 1700))
    assert fast > 700
    assert slow - fast == pytest.approx(1000)


def test_small_writes_by_hand():
    """Limits of small c2h writes, by RQ beats of PG213: 3 for 64 B, 53 for 1504 B at MPS 256."""
    beats = {64: 3, 128: 5, 256: 9, 512: 18, 1504: 53}
    for size, count in beats.items():
        limit = limits.small_c2h(size, 256)
        assert limit == limits.Limit(pytest.approx(size / (4 * count)), "interface")
    assert limits.small_c2h(512, 512).binds == "wire"
    assert limits.small_c2h(512, 512).value == limits.c2h(512, 512).value


def test_what_is_told_of_messages_takes_beats_of_rq():
    """16 messages of 64 B take 48 beats of RQ and their records 9; a line 2 of 1024 cycles."""
    for mps, beats in ((256, 48 + 9), (128, 48 + 10)):
        limit = limits.told_c2h(64, mps)
        value = 64 * 16 / (beats * 4) * 1022 / 1024
        assert limit == limits.Limit(pytest.approx(value), "interface")


def test_the_wire_takes_24_bytes_for_each_small_write(monkeypatch):
    """On the wire each small write has 24 bytes more: 1504 B are six writes, so 144 bytes."""
    monkeypatch.setattr(limits, "CYCLE_NS", 0.001)
    limit = limits.small_c2h(1504, 256)
    raw = limits.RAW * (1 - limits.DLLP_AND_SKIP_TAX[256])
    assert limit == limits.Limit(pytest.approx(raw * 1504 / (1504 + 144)), "wire")


def test_small_reads_by_hand():
    """Limits of small h2c reads: 20 bytes on the wire for each completion, and half beats of RC."""
    raw = limits.RAW * (1 - limits.DLLP_AND_SKIP_TAX[256])
    small, long = (limits.small_h2c(size, 256, 256, 512, 600) for size in (64, 1504))
    assert small == limits.Limit(pytest.approx(raw * 64 / 84), "wire")
    assert long == limits.Limit(pytest.approx(raw * 1504 / (1504 + 6 * 20)), "wire")
    plain = limits.small_h2c(64, 256, 256, 512, 600, straddle=False)
    assert plain == limits.Limit(pytest.approx(64 / 12), "interface")


@pytest.mark.parametrize("size, rcb, tags, in_flight", [
    (256, 128, 256, 128 * 256),  # completion data space; 2 headers each
    (4096, 128, 256, 64 * 512),
    (256, 64, 256, 64 * 256),  # completion headers: 4 each
    (64, 64, 256, 256 * 64),
    (64, 64, 64, 64 * 64),
    (96, 64, 256, 128 * 96),  # completion headers: 2 each
    (1504, 128, 32, 32 / 3 * 1504),  # tags: 3 reads each
])  # fmt: skip
def test_tags_and_completion_space_bound_reads_far_away(size, rcb, tags, in_flight):
    """Over a round trip of 20 us tags, completion headers or completion data limit the rate."""
    limit = limits.small_h2c(size, 256, 256, 512, 20_000, tags, rcb=rcb)
    assert limit == limits.Limit(pytest.approx(in_flight / 20_000), "reads in flight")


def test_a_read_of_one_dword_is_bound_by_its_request():
    """A read of one dword is limited by its request, a beat of RQ: 4 B in each cycle."""
    assert limits.small_h2c(4, 256, 256, 512, 0).value == pytest.approx(1)
    assert limits.small_h2c(4, 256, 256, 512, 0).binds == "read requests"


def test_large_descriptors_have_the_limit_of_streams():
    """Descriptors of whole TLPs have the limit of a stream."""
    for mps in (128, 256, 512):
        assert limits.small_c2h(8192, mps) == limits.c2h(mps, mps)
        small = limits.small_h2c(8192, mps, mps, 512, 600)
        assert small.value == limits.h2c(mps, mps, 256, 512, 600, straddle=True).value


def test_directions_apart_share_requests_and_wire():
    """At MPS 512 the wire limits h2c to 7.48, whose requests leave 7.09 or more for c2h."""
    c2h, h2c = limits.duplex_apart(512, 512, 512)
    assert (round(c2h.value, 2), round(h2c.value, 2), h2c.binds) == (7.09, 7.48, "wire")
    raw = limits.RAW * (1 - limits.DLLP_AND_SKIP_TAX[512])
    left = (raw - h2c.value * 24 / 512) * 512 / 536
    assert c2h == limits.Limit(pytest.approx(left), "wire")  # 7.087; RQ would have 7.090
    alone = limits.duplex_apart(512, 512, 512, 1e-9)[0]
    assert alone.value == pytest.approx(limits.c2h(512, 512).value)
    assert c2h.value < limits.duplex_apart(512, 512, 512, 7.0)[0].value < alone.value
    # MPS 256: of 250 million beats a second, a request of 512 B takes one and a write nine.
    both = limits.duplex_apart(256, 512, 256)[0]
    rate = limits.h2c(256, 256, 256, 512, 0, straddle=True).value
    assert both == limits.Limit(pytest.approx((0.25 - rate / 512) * 256 / 9), "interface")
