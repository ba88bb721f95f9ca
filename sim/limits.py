# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What Gen3 x8 at 256 bit and 250 MHz allows: the only place where a limit is computed.

Two things bound every stream: the wire (8 GT/s x 8 lanes x 128/130, less DLLPs and skips, less
each TLP's overhead) and the hard block's user interface (whole beats of 32 B, one TLP a beat, a
descriptor in front of the data). Rates are in GB/s (1e9 B/s), sizes in bytes, times in ns.
Sources: PCI Express base specification 3.1, chapters 2 to 4; PG213, "Descriptor formats".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# By generation: GB/s of one lane, after its line code.
LANE = {1: 2.5 / 8 * 8 / 10, 2: 5 / 8 * 8 / 10, 3: 8 / 8 * 128 / 130}
RAW = 8 * LANE[3]  # GB/s
DLLP_AND_SKIP_TAX = {128: 0.0149, 256: 0.0125, 512: 0.0136}  # by programmed MPS
BEAT_BYTES = 32
CYCLE_NS = 4

WRITE_OVERHEAD = 24  # framing 4, header 16 (4DW form), LCRC 4
READ_OVERHEAD = 24
SHORT_HEADER = 4  # so much less below 4 GiB, in 3DW form: BAR0 is always there
COMPLETION_OVERHEAD = 20
REQUEST_DESCRIPTOR = 16  # RQ, CQ
COMPLETION_DESCRIPTOR = 12  # RC, CC

COMPLETION_SPACE = 32 * 1024  # the hard block's: 2048 data credits of 16 B
COMPLETION_HEADERS = 256


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
) -> Limit:
    """Reads by the card, answered in completions of `completion` bytes (RC).

    A card reserves what the host may send at worst: a header for each `rcb` bytes.
    """
    in_flight = min(tags * mrrs, COMPLETION_HEADERS * rcb, COMPLETION_SPACE)
    slot = 16 if straddle else BEAT_BYTES
    return _least(
        wire=wire(completion, COMPLETION_OVERHEAD, mps),
        interface=interface(completion, COMPLETION_DESCRIPTOR, slot),
        **({"reads in flight": in_flight / rtt_ns} if rtt_ns else {}),
    )


def h2c_interface(completion: int) -> Limit:
    """The same with a link on which bytes take no time: in bytes per cycle, straddled."""
    rate = interface(completion, COMPLETION_DESCRIPTOR, slot=16)
    return Limit(rate * CYCLE_NS, "interface")


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
    """Each way, when every byte read by the card is also written by it."""
    share, interface_rate = duplex_parts(mps, mrrs)
    return _least(wire=RAW * share, interface=interface_rate)


def mmio_read_ns(host_rtt_ns: float, mps: int, size: int) -> Limit:
    """Least time of one host read: the host's own share, both wires, one beat in and one out."""
    both_ways = READ_OVERHEAD - SHORT_HEADER + COMPLETION_OVERHEAD + size
    wires = both_ways / (RAW * (1 - DLLP_AND_SKIP_TAX[mps]))
    return Limit(host_rtt_ns + wires + 2 * CYCLE_NS, "host round trip")


def transfer_ns(host_rtt_ns: float, mps: int, size: int) -> Limit:
    """Least time of `size` bytes read by the card and written back: one round trip, then RQ.

    Every beat that comes goes back at once; what stands before the read and behind the last write
    takes no time.
    """
    pins = size / interface(min(size, mps), REQUEST_DESCRIPTOR)
    return Limit(host_rtt_ns + pins, "host round trip")


def mmio_write(size: int, mps: int, below_4_gib: bool = False) -> Limit:
    """Back-to-back host writes of `size` bytes (CQ)."""
    overhead = WRITE_OVERHEAD - (SHORT_HEADER if below_4_gib else 0)
    return _least(wire=wire(size, overhead, mps), interface=interface(size, REQUEST_DESCRIPTOR))
