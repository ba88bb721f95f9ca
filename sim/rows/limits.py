# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The limits of Gen3 x8 at 256 bit and 250 MHz: the only place where a limit is computed.

Two things bound every stream: the wire (8 GT/s x 8 lanes x 128/130, less DLLPs and skips, less
each TLP's overhead) and the hard block's user interface (whole beats of 32 B, one TLP a beat, a
descriptor in front of the data). Rates are in GB/s (1e9 B/s), sizes in bytes, times in ns.
Sources: PCI Express base specification 3.1, chapters 2 to 4; PG213, "Descriptor formats".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# GB/s of one lane by link generation, after its line code.
LANE = {1: 2.5 / 8 * 8 / 10, 2: 5 / 8 * 8 / 10, 3: 8 / 8 * 128 / 130}
RAW = 8 * LANE[3]  # GB/s
DLLP_AND_SKIP_TAX = {128: 0.0149, 256: 0.0125, 512: 0.0136}  # by programmed MPS
BEAT_BYTES = 32
CYCLE_NS = 4

WRITE_OVERHEAD = 24  # framing 4, header 16 (4DW form), LCRC 4
READ_OVERHEAD = 24
SHORT_HEADER = 4  # bytes less in 3DW form, for addresses below 4 GiB such as BAR0's
COMPLETION_OVERHEAD = 20
REQUEST_DESCRIPTOR = 16  # RQ, CQ
COMPLETION_DESCRIPTOR = 12  # RC, CC

COMPLETION_SPACE = 32 * 1024  # the hard block's: 2048 data credits of 16 B
COMPLETION_HEADERS = 256
COMPLETION_POOL = 2048  # units of 16 B; a header takes one unit, too
EXTENDED_TAGS = 256  # reads that a function may have in flight with Extended Tag Enable


@dataclass(frozen=True)
class Limit:
    """The largest possible value (or the smallest, for times) and what sets it."""

    value: float
    binds: str


def _least(**candidates: float) -> Limit:
    name = min(candidates, key=candidates.get)
    return Limit(candidates[name], name)


def wire(payload: int, overhead: int, mps: int) -> float:
    """Payload rate on the wire for back-to-back TLPs of `payload` bytes."""
    return RAW * (1 - DLLP_AND_SKIP_TAX[mps]) * payload / (payload + overhead)


def interface(payload: int, descriptor: int, slot: int = BEAT_BYTES) -> float:
    """Payload rate at the user pins; a TLP starts on a multiple of `slot` bytes (16: straddle)."""
    taken = math.ceil((descriptor + payload) / slot) * slot
    return payload / (taken / BEAT_BYTES * CYCLE_NS)


def c2h(payload: int, mps: int) -> Limit:
    """Writes of `payload` bytes by the card (RQ)."""
    return _least(
        wire=wire(payload, WRITE_OVERHEAD, mps), interface=interface(payload, REQUEST_DESCRIPTOR)
    )


def h2c(
    completion: int,
    mps: int,
    tags: int,
    mrrs: int,
    rtt_ns: float,
    straddle: bool = False,
    rcb: int = 64,
    pool: bool = False,
) -> Limit:
    """Reads by the card, answered in completions of `completion` bytes (RC).

    A card reserves room for the most headers that the host may send: one for each `rcb` bytes.
    `pool`: headers and data share COMPLETION_POOL units. `rtt_ns` 0: reads in flight do not bind.
    """
    in_flight = min(tags * mrrs, _room(1, rcb, pool) * rcb)
    slot = 16 if straddle else BEAT_BYTES
    return _least(
        wire=wire(completion, COMPLETION_OVERHEAD, mps),
        interface=interface(completion, COMPLETION_DESCRIPTOR, slot),
        **({"reads in flight": in_flight / rtt_ns} if rtt_ns else {}),
    )


def _room(headers: int, space: int, pool: bool) -> float:
    """How many reads fit the completion buffer if each needs `headers` and `space` bytes."""
    if pool:
        return COMPLETION_POOL / (headers + space / 16)
    return min(COMPLETION_HEADERS / headers, COMPLETION_SPACE / space)


def h2c_interface(completion: int) -> Limit:
    """As h2c() with straddle and a link on which bytes take no time, in bytes per cycle."""
    rate = interface(completion, COMPLETION_DESCRIPTOR, slot=16)
    return Limit(rate * CYCLE_NS, "interface")


def _pieces(size: int, most: int) -> list[int]:
    """Lengths of the pieces of `size` bytes from an aligned address, cut at multiples of `most`."""
    return [min(most, size - start) for start in range(0, size, most)]


def _cycles(payloads: list[int], descriptor: int, slot: int) -> float:
    """Cycles of these TLPs at the user pins; a TLP starts on a multiple of `slot` bytes."""
    return sum(math.ceil((descriptor + size) / slot) * slot for size in payloads) / BEAT_BYTES


def small_c2h(size: int, mps: int) -> Limit:
    """Writes by descriptors of `size` bytes, each of which begins a TLP of its own.

    On RQ a TLP begins with a beat, and 16 bytes of descriptor stand before its data (PG213): so a
    write of 64 B takes 3 beats. The wire adds 24 bytes to each (base specification 2.2, 3.3). A
    descriptor that MPS does not divide ends in a shorter TLP.
    """
    writes = _pieces(size, mps)
    return _least(
        wire=RAW * (1 - DLLP_AND_SKIP_TAX[mps]) * size / (size + WRITE_OVERHEAD * len(writes)),
        interface=size / (_cycles(writes, REQUEST_DESCRIPTOR, BEAT_BYTES) * CYCLE_NS),
    )


RECORD = 16  # bytes: the card's report of one finished c2h buffer
RECORD_BATCH = 16  # records in one write while more data waits, if MPS is 256 or more
STATUS_LINE = 32  # bytes: the card's report of how far a direction has come
STATUS_CYCLES = 1024  # between two status lines of a direction that is busy


def told_c2h(size: int, mps: int, lines: int = 1) -> Limit:
    """As small_c2h() if the card reports each descriptor in memory, by records and status lines.

    A write of 64 B takes 3 beats of RQ, 16 records together take 9, a status line takes 2.
    `lines`: how many directions write status lines.
    """
    batch = min(RECORD_BATCH, mps // RECORD)
    cycles = _cycles(_pieces(size, mps), REQUEST_DESCRIPTOR, BEAT_BYTES)
    cycles += _cycles([RECORD * batch], REQUEST_DESCRIPTOR, BEAT_BYTES) / batch
    line = _cycles([STATUS_LINE], REQUEST_DESCRIPTOR, BEAT_BYTES)
    cycles /= 1 - lines * line / STATUS_CYCLES
    on_wire = size + WRITE_OVERHEAD * len(_pieces(size, mps)) + RECORD + WRITE_OVERHEAD / batch
    share = lines * (STATUS_LINE + WRITE_OVERHEAD) / (STATUS_CYCLES * CYCLE_NS)
    return _least(
        wire=(RAW * (1 - DLLP_AND_SKIP_TAX[mps]) - share) * size / on_wire,
        interface=size / (cycles * CYCLE_NS),
    )


def small_h2c(
    size: int,
    completion: int,
    mps: int,
    mrrs: int,
    rtt_ns: float,
    tags: int = EXTENDED_TAGS,
    straddle: bool = True,
    rcb: int = 64,
    pool: bool = False,
) -> Limit:
    """Reads by descriptors of `size` bytes, each of which begins a read of its own.

    Four things bound it. The wire adds 20 bytes to each completion. On RC 12 bytes of descriptor
    stand before the data, and a completion begins with a beat or, straddled, in half a beat
    (PG213). On RQ a read takes a beat. The number of reads in flight is bound by the tags and by
    the space for their completions: a read needs a header for each `rcb` bytes, and data space
    rounded up to 16 bytes. `pool`: headers and data share COMPLETION_POOL units. `rtt_ns` 0: reads
    in flight do not bind.
    """
    reads = _pieces(size, mrrs)
    completions = [piece for read in reads for piece in _pieces(read, completion)]
    headers = sum(math.ceil(read / rcb) for read in reads)
    space = sum(math.ceil(read / 16) * 16 for read in reads)
    together = min(tags / len(reads), _room(headers, space, pool))
    slot = 16 if straddle else BEAT_BYTES
    on_wire = size + COMPLETION_OVERHEAD * len(completions)
    return _least(
        wire=RAW * (1 - DLLP_AND_SKIP_TAX[mps]) * size / on_wire,
        interface=size / (_cycles(completions, COMPLETION_DESCRIPTOR, slot) * CYCLE_NS),
        **{"read requests": size / (len(reads) * CYCLE_NS)},
        **({"reads in flight": together * size / rtt_ns} if rtt_ns else {}),
    )


def cc(completion: int, mps: int) -> Limit:
    """The card's answers to the host's reads, in completions of `completion` bytes (CC)."""
    return _least(
        wire=wire(completion, COMPLETION_OVERHEAD, mps),
        interface=interface(completion, COMPLETION_DESCRIPTOR),
    )


def duplex_parts(mps: int, mrrs: int) -> tuple[float, float]:
    """Share of the raw rate, and interface rate, each way; see duplex()."""
    beats = math.ceil((REQUEST_DESCRIPTOR + mps) / BEAT_BYTES) / mps + 1 / mrrs  # of a byte
    on_wire = 1 + WRITE_OVERHEAD / mps + READ_OVERHEAD / mrrs
    return (1 - DLLP_AND_SKIP_TAX[mps]) / on_wire, 1 / (beats * CYCLE_NS)


def duplex(mps: int, mrrs: int) -> Limit:
    """Rate each way when the card writes back every byte that it reads."""
    share, interface_rate = duplex_parts(mps, mrrs)
    return _least(wire=RAW * share, interface=interface_rate)


def duplex_share(mps: int, mrrs: int, share: float) -> Limit:
    """Rate of the card's reads when it writes `share` bytes for each byte that it reads.

    With a share of 1 it is duplex(). Read requests and writes share the beats of RQ and the wire.
    """
    beats = share * math.ceil((REQUEST_DESCRIPTOR + mps) / BEAT_BYTES) / mps + 1 / mrrs
    on_wire = share * (1 + WRITE_OVERHEAD / mps) + READ_OVERHEAD / mrrs
    return _least(
        wire=RAW * (1 - DLLP_AND_SKIP_TAX[mps]) / on_wire, interface=1 / (beats * CYCLE_NS)
    )


def packet_parts(size: int, mps: int) -> tuple[float, float]:
    """Share of the raw rate, and interface rate, of packets there and back; see packets()."""
    batch = min(RECORD_BATCH, mps // RECORD)
    writes = _pieces(size, mps)
    cycles = 1 + _cycles(writes, REQUEST_DESCRIPTOR, BEAT_BYTES)
    cycles += _cycles([RECORD * batch], REQUEST_DESCRIPTOR, BEAT_BYTES) / batch
    lines = 2 * _cycles([STATUS_LINE], REQUEST_DESCRIPTOR, BEAT_BYTES) / STATUS_CYCLES
    on_wire = size + WRITE_OVERHEAD * len(writes) + READ_OVERHEAD + RECORD + WRITE_OVERHEAD / batch
    return (
        (1 - DLLP_AND_SKIP_TAX[mps]) * size / on_wire,
        size * (1 - lines) / (cycles * CYCLE_NS),
    )


def packets(size: int, mps: int) -> Limit:
    """Rate each way of packets of `size` bytes that the card reads and writes back.

    For each packet the card sends one read (assuming that MRRS allows it), the writes of its data,
    and a sixteenth of a write with 16 records (fewer below MPS 256). Each direction also writes
    status lines, which are counted on RQ but not on the wire.
    """
    share, interface_rate = packet_parts(size, mps)
    return _least(wire=RAW * share, interface=interface_rate)


def duplex_apart(
    mps: int, mrrs: int, completion: int, h2c_rate: float | None = None
) -> tuple[Limit, Limit]:
    """Limits of c2h and h2c at once, each by its own descriptors: neither waits for the other.

    h2c's data comes by the direction of the link that c2h does not use, so it has the whole limit
    of h2c(). Its read requests share RQ and the wire with c2h's writes: each `mrrs` bytes cost a
    beat of RQ and 24 bytes of the wire, and c2h gets the rest. `h2c_rate`: the rate that h2c
    reached in GB/s, if it was below its limit; c2h's limit is then higher.
    """
    h2c_limit = h2c(completion, mps, EXTENDED_TAGS, mrrs, 0, straddle=True)
    requests = (h2c_rate or h2c_limit.value) / mrrs  # of reads, in one nanosecond
    beats = math.ceil((REQUEST_DESCRIPTOR + mps) / BEAT_BYTES)
    left = RAW * (1 - DLLP_AND_SKIP_TAX[mps]) - requests * READ_OVERHEAD
    c2h_limit = _least(
        wire=left * mps / (mps + WRITE_OVERHEAD),
        interface=(1 / CYCLE_NS - requests) * mps / beats,
    )
    return c2h_limit, h2c_limit


def mmio_read_ns(host_rtt_ns: float, mps: int, size: int) -> Limit:
    """Least time of one host read: the host's own share, both wires, one beat in and one out."""
    both_ways = READ_OVERHEAD - SHORT_HEADER + COMPLETION_OVERHEAD + size
    wires = both_ways / (RAW * (1 - DLLP_AND_SKIP_TAX[mps]))
    return Limit(host_rtt_ns + wires + 2 * CYCLE_NS, "host round trip")


def transfer_ns(host_rtt_ns: float, mps: int, size: int) -> Limit:
    """Least time of `size` bytes read by the card and written back: one round trip, then RQ.

    Every beat that arrives is taken to leave at once. The doorbell before the read and the
    interrupt after the last write are taken to need no time.
    """
    pins = size / interface(min(size, mps), REQUEST_DESCRIPTOR)
    return Limit(host_rtt_ns + pins, "host round trip")


def mmio_write(size: int, mps: int, below_4_gib: bool = False) -> Limit:
    """Back-to-back host writes of `size` bytes (CQ)."""
    overhead = WRITE_OVERHEAD - (SHORT_HEADER if below_4_gib else 0)
    return _least(wire=wire(size, overhead, mps), interface=interface(size, REQUEST_DESCRIPTOR))
