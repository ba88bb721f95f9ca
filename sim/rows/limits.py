# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Computes the limits of Gen3 x8 at 256 bit and 250 MHz for the rows of the benchmark table.

Two things bound every stream. The wire has 8 GT/s x 8 lanes x 128/130, less DLLPs and skips, less
each TLP's overhead. The hard block's user interface has whole beats of 32 B, one TLP a beat, and a
descriptor in front of the data. Rates are in GB/s (1e9 B/s), sizes in bytes, times in ns. Sources:
PCI Express base specification 3.1, chapters 2 to 4; PG213, "Descriptor formats"."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gateware import numbers

# Rate of one lane in GB/s by link generation, with the line code (8b/10b or 128b/130b) subtracted.
LANE = {1: 2.5 / 8 * 8 / 10, 2: 5 / 8 * 8 / 10, 3: 8 / 8 * 128 / 130}
RAW = 8 * LANE[3]  # the raw rate of eight lanes of a Gen3 link in GB/s
# The share of the link's rate that DLLPs and skips take, by programmed MPS in bytes.
DLLP_AND_SKIP_TAX = {128: 0.0149, 256: 0.0125, 512: 0.0136}
BEAT_BYTES = numbers.BEAT_BYTES
CYCLE_NS = numbers.TICK_NS

WRITE_OVERHEAD = 24  # Bytes of a write beside its payload: framing 4, header 16 (4DW form), LCRC 4.
READ_OVERHEAD = 24
# A 3DW header is this many bytes shorter. Addresses below 4 GiB, such as BAR0's, have it.
SHORT_HEADER = 4
COMPLETION_OVERHEAD = 20
REQUEST_DESCRIPTOR = numbers.REQUEST_DESCRIPTOR
COMPLETION_DESCRIPTOR = numbers.COMPLETION_DESCRIPTOR

# The room in the hard block for the data of read completions, in bytes.
COMPLETION_SPACE = numbers.COMPLETION_UNITS * numbers.COMPLETION_UNIT_BYTES
COMPLETION_HEADERS = numbers.COMPLETION_HEADERS
# The units of the hard block's pool for headers and data of completions. A header takes one unit.
COMPLETION_POOL = numbers.COMPLETION_UNITS
# The most reads that a function may have in flight with Extended Tag Enable.
EXTENDED_TAGS = numbers.READ_TAGS


@dataclass(frozen=True)
class Limit:
    """The limit of a row and what sets it.

    `value` is the largest possible value, or for times the smallest one. `binds` names what sets
    the limit, for example "wire" or "interface"."""

    value: float
    binds: str


def _least(**candidates: float) -> Limit:
    name = min(candidates, key=candidates.get)
    return Limit(candidates[name], name)


def wire(payload: int, overhead: int, mps: int) -> float:
    """Return the payload rate in GB/s on the wire (Gen3 x8) of back-to-back TLPs, each with
    `payload` bytes of data and `overhead` further bytes. DLLPs and skips at this MPS are
    subtracted."""
    return RAW * (1 - DLLP_AND_SKIP_TAX[mps]) * payload / (payload + overhead)


def interface(payload: int, descriptor: int, slot: int = BEAT_BYTES) -> float:
    """Return the payload rate in GB/s at the hard block's user pins.

    A TLP starts on a multiple of `slot` bytes: 32 on most interfaces, 16 on RC with straddle."""
    taken = math.ceil((descriptor + payload) / slot) * slot
    return payload / (taken / BEAT_BYTES * CYCLE_NS)


def c2h(payload: int, mps: int) -> Limit:
    """Return the limit in GB/s of writes by the card (RQ), each with `payload` bytes."""
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
    """Return the limit in GB/s of the card's reads, answered on RC in completions of `completion`
    bytes.

    The limit is the lowest of wire, interface and reads in flight. The latter are `tags` reads of
    `mrrs` bytes, or as many as the space for completions holds, in a round trip of `rtt_ns`. The
    card reserves room for the most headers that the host may send: one for each `rcb` bytes. With
    `pool`, headers and data share COMPLETION_POOL units. With an `rtt_ns` of 0 the number of reads
    in flight does not limit the rate.
    """
    in_flight = min(tags * mrrs, _room(1, rcb, pool) * rcb)
    slot = 16 if straddle else BEAT_BYTES
    return _least(
        wire=wire(completion, COMPLETION_OVERHEAD, mps),
        interface=interface(completion, COMPLETION_DESCRIPTOR, slot),
        **({"reads in flight": in_flight / rtt_ns} if rtt_ns else {}),
    )


def _room(headers: int, space: int, pool: bool) -> float:
    """Return how many reads fit into the hard block's space for completions, as a fraction.

    Each read needs `headers` headers and `space` bytes of data. With `pool` both share
    COMPLETION_POOL units, of which a header takes one and 16 bytes of data take one.
    """
    if pool:
        return COMPLETION_POOL / (headers + space / 16)
    return min(COMPLETION_HEADERS / headers, COMPLETION_SPACE / space)


def h2c_interface(completion: int) -> Limit:
    """Return the limit of h2c() in bytes per cycle, on a link on which bytes take no time.

    RC has straddle."""
    rate = interface(completion, COMPLETION_DESCRIPTOR, slot=16)
    return Limit(rate * CYCLE_NS, "interface")


def _pieces(size: int, most: int) -> list[int]:
    """Return the lengths of the pieces into which `size` bytes from an aligned address on are cut.
    All pieces but the last have `most` bytes."""
    return [min(most, size - start) for start in range(0, size, most)]


def _cycles(payloads: list[int], descriptor: int, slot: int) -> float:
    """Return how many cycles TLPs with these payloads, in bytes, take at the user pins.

    A TLP starts on a multiple of `slot` bytes."""
    return sum(math.ceil((descriptor + size) / slot) * slot for size in payloads) / BEAT_BYTES


def small_c2h(size: int, mps: int) -> Limit:
    """Return the limit in GB/s of writes by descriptors of `size` bytes, each of which begins a new
    TLP.

    On RQ a TLP begins with a beat, and 16 bytes of descriptor stand before its data (PG213). So a
    write of 64 B takes 3 beats. The wire adds 24 bytes to each TLP (base specification 2.2, 3.3).
    If MPS does not divide a descriptor's size, its last TLP is shorter.
    """
    writes = _pieces(size, mps)
    return _least(
        wire=RAW * (1 - DLLP_AND_SKIP_TAX[mps]) * size / (size + WRITE_OVERHEAD * len(writes)),
        interface=size / (_cycles(writes, REQUEST_DESCRIPTOR, BEAT_BYTES) * CYCLE_NS),
    )


RECORD, RECORD_BATCH = numbers.RECORD_BYTES, numbers.RECORD_BATCH
STATUS_LINE, STATUS_CYCLES = numbers.STATUS_BYTES, numbers.STATUS_CYCLES


def told_c2h(size: int, mps: int, lines: int = 1) -> Limit:
    """Return the limit of small_c2h() for a card that reports each descriptor in host memory.

    The card writes a record for each descriptor, and status lines. A data write of 64 B takes 3
    beats of RQ, 16 records together take 9, a status line takes 2. `lines` is the number of
    directions that write status lines."""
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


# While more data waits, the card writes a status line after this many bytes of the capture ring.
CAPTURE_LINE = numbers.CAPTURE_CELLS_PER_LINE * numbers.PAGE_BYTES
CAPTURE_RECORD = 32  # Bytes of a pcapng record beside the frame: header 28, repeated length 4.
BUILDER_CYCLES = 3  # The capture block takes at least this many cycles for a pcapng record.


def capture_record(size: int) -> int:
    """Return the size in bytes of the pcapng record of a frame of `size` bytes: a multiple of 8."""
    return -(-(CAPTURE_RECORD + size) // 8) * 8


def capture(size: int, mps: int) -> Limit:
    """Return the limit in GB/s of the pcapng records of captured frames of `size` bytes.

    The builder makes one beat of a record in each cycle, and a short last beat takes a whole cycle.
    On RQ and on the wire the ring is written in TLPs of MPS bytes, and a status line of 32 bytes
    follows each 16 KiB."""
    record = capture_record(size)
    builder = record / (max(BUILDER_CYCLES, -(-record // BEAT_BYTES)) * CYCLE_NS)
    writes = [*_pieces(CAPTURE_LINE, mps), STATUS_LINE]
    on_wire = sum(writes) + WRITE_OVERHEAD * len(writes)
    return _least(
        builder=builder,
        wire=RAW * (1 - DLLP_AND_SKIP_TAX[mps]) * CAPTURE_LINE / on_wire,
        interface=CAPTURE_LINE / (_cycles(writes, REQUEST_DESCRIPTOR, BEAT_BYTES) * CYCLE_NS),
    )


STAGING = numbers.CAPTURE_CELLS * numbers.PAGE_BYTES
# Bytes of h2c that may be on the card before the player's first frame has left.
AHEAD = numbers.DMA_STORE_SIZE + numbers.DMA_BUFFER_SIZE + 2 * 2**numbers.CAPTURE_LENGTH_BITS
TRIMMED = 17  # Frames that the capture block may hold before it makes their records.
LEAST_PLAYED = 4 * (STAGING + AHEAD)  # Fewer bytes would mostly lie in the card's memories.


def played(
    lengths: list[int], sizes: list[int], mps: int, mrrs: int, completion: int
) -> Limit | None:
    """Return the limit in GB/s of the packets of a pcapng file that is played and captured.

    `lengths` are the bytes of the file's blocks, `sizes` those of its packets. The time is from the
    first frame's begin to the last one's end in the player. Blocks come at a beat a cycle, each in
    beats of its own. What lies in the card's memories at the begin and at the end takes no time on
    the link. Returns None for a file that is too short."""
    if sum(lengths) < LEAST_PLAYED:
        return None
    records = [capture_record(size) for size in sizes]
    writes = [*_pieces(CAPTURE_LINE, mps), STATUS_LINE]
    ring, stream = sum(records) - STAGING, sum(lengths) - AHEAD
    reads = stream / mrrs
    share = 1 - DLLP_AND_SKIP_TAX[mps]
    up = ring / CAPTURE_LINE * (sum(writes) + WRITE_OVERHEAD * len(writes)) + reads * READ_OVERHEAD
    taken = {
        "player": sum(-(-length // BEAT_BYTES) for length in lengths[1:]) * CYCLE_NS,
        "builder": CYCLE_NS
        * sum(max(BUILDER_CYCLES, -(-record // BEAT_BYTES)) for record in records[TRIMMED:]),
        "h2c wire": stream * (1 + COMPLETION_OVERHEAD / completion) / (RAW * share),
        "h2c interface": stream / interface(completion, COMPLETION_DESCRIPTOR, slot=16),
        "c2h wire": up / (RAW * share),
        "RQ": CYCLE_NS
        * (ring / CAPTURE_LINE * _cycles(writes, REQUEST_DESCRIPTOR, BEAT_BYTES) + reads),
    }
    return _least(**{name: sum(sizes) / time for name, time in taken.items() if time > 0})


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
    """Return the limit of reads by descriptors of `size` bytes, each of which begins a new read.

    Four things bound it. The wire adds 20 bytes to each completion. On RC 12 bytes of descriptor
    stand before the data, and a completion begins with a beat or, straddled, in half a beat
    (PG213). On RQ a read takes a beat. The number of reads in flight is bound by the tags and by
    the space for their completions: a read needs a header for each `rcb` bytes, and data space
    rounded up to 16 bytes. With `pool`, headers and data share COMPLETION_POOL units. With an
    `rtt_ns` of 0 the number of reads in flight does not limit the rate."""
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
    """Return the limit in GB/s of the card's answers to reads of the host or of another device, in
    completions of `completion` bytes on CC."""
    return _least(
        wire=wire(completion, COMPLETION_OVERHEAD, mps),
        interface=interface(completion, COMPLETION_DESCRIPTOR),
    )


def duplex_parts(mps: int, mrrs: int) -> tuple[float, float]:
    """Return the two parts from which duplex() makes its limit, both for one direction.

    They are the payload's share (0 to 1) of the raw rate of the wire, and the rate of the interface
    RQ in GB/s.
    """
    # The beats that RQ needs for each byte that the card reads and writes back.
    beats = math.ceil((REQUEST_DESCRIPTOR + mps) / BEAT_BYTES) / mps + 1 / mrrs
    on_wire = 1 + WRITE_OVERHEAD / mps + READ_OVERHEAD / mrrs
    return (1 - DLLP_AND_SKIP_TAX[mps]) / on_wire, 1 / (beats * CYCLE_NS)


def duplex(mps: int, mrrs: int) -> Limit:
    """Return the limit in GB/s of each direction if the card writes back every byte it reads."""
    share, interface_rate = duplex_parts(mps, mrrs)
    return _least(wire=RAW * share, interface=interface_rate)


def duplex_share(mps: int, mrrs: int, share: float) -> Limit:
    """Return the limit in GB/s of the card's reads when it writes `share` bytes for each byte that
    it reads.

    With a share of 1 the limit is that of duplex(). Read requests and writes share the beats of RQ
    and the wire.
    """
    beats = share * math.ceil((REQUEST_DESCRIPTOR + mps) / BEAT_BYTES) / mps + 1 / mrrs
    on_wire = share * (1 + WRITE_OVERHEAD / mps) + READ_OVERHEAD / mrrs
    return _least(
        wire=RAW * (1 - DLLP_AND_SKIP_TAX[mps]) / on_wire, interface=1 / (beats * CYCLE_NS)
    )


def packet_parts(size: int, mps: int) -> tuple[float, float]:
    """Return the two parts from which packets() makes its limit, both for one direction.

    They are the payload's share (0 to 1) of the raw rate of the wire, and the rate of the interface
    RQ in GB/s, for packets of `size` bytes.
    """
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
    """Return the limit of each direction for packets of `size` bytes that the card writes back.

    For each packet the card sends one read (if MRRS allows it), the writes of its data, and a
    sixteenth of a write with 16 records (fewer below MPS 256). Each direction also writes status
    lines, which are counted on RQ but not on the wire."""
    share, interface_rate = packet_parts(size, mps)
    return _least(wire=RAW * share, interface=interface_rate)


def duplex_apart(
    mps: int, mrrs: int, completion: int, h2c_rate: float | None = None
) -> tuple[Limit, Limit]:
    """Return the limits in GB/s of c2h and h2c at once, when each has descriptors of its own.

    Neither direction waits for the other one. The data of h2c comes by the direction of the link
    that c2h does not use, so h2c has the whole limit of h2c(). The read requests of h2c share RQ
    and the wire with the writes of c2h. Each `mrrs` bytes of h2c cost a beat of RQ and 24 bytes of
    the wire, so c2h gets what they leave. `h2c_rate` is the rate that h2c reached in GB/s. If that
    is below the limit of h2c, the limit of c2h is higher.
    """
    h2c_limit = h2c(completion, mps, EXTENDED_TAGS, mrrs, 0, straddle=True)
    requests = (h2c_rate or h2c_limit.value) / mrrs  # the card's read requests per nanosecond
    beats = math.ceil((REQUEST_DESCRIPTOR + mps) / BEAT_BYTES)
    left = RAW * (1 - DLLP_AND_SKIP_TAX[mps]) - requests * READ_OVERHEAD
    c2h_limit = _least(
        wire=left * mps / (mps + WRITE_OVERHEAD),
        interface=(1 / CYCLE_NS - requests) * mps / beats,
    )
    return c2h_limit, h2c_limit


def mmio_read_ns(host_rtt_ns: float, mps: int, size: int) -> Limit:
    """Return the least time in ns of one read by the host.

    The time is the host's own share, the time on both directions of the wire, one beat into the
    card and one beat out."""
    both_ways = READ_OVERHEAD - SHORT_HEADER + COMPLETION_OVERHEAD + size
    wires = both_ways / (RAW * (1 - DLLP_AND_SKIP_TAX[mps]))
    return Limit(host_rtt_ns + wires + 2 * CYCLE_NS, "host round trip")


def transfer_ns(host_rtt_ns: float, mps: int, size: int) -> Limit:
    """Return the least time in ns in which `size` bytes are read by the card and written back.

    The time is one round trip and then the time on RQ. Every beat that arrives is taken to leave at
    once. The doorbell before the read and the interrupt after the last write are taken to need no
    time."""
    pins = size / interface(min(size, mps), REQUEST_DESCRIPTOR)
    return Limit(host_rtt_ns + pins, "host round trip")


def mmio_write(size: int, mps: int, below_4_gib: bool = False) -> Limit:
    """Return the limit in GB/s of back-to-back writes of `size` bytes by the host (CQ)."""
    overhead = WRITE_OVERHEAD - (SHORT_HEADER if below_4_gib else 0)
    return _least(wire=wire(size, overhead, mps), interface=interface(size, REQUEST_DESCRIPTOR))
