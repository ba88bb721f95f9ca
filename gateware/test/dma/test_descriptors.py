# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/descriptors.py: the pieces of a descriptor have all of its bytes, and no others."""

import random
from dataclasses import dataclass

import pytest
from litepcie.frontend.dma import descriptor_layout
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import Signal, passive

from gateware import numbers
from gateware.dma.descriptors import (
    BEAT_BYTES,
    EPOCH_BITS,
    PIECE_BEATS,
    DescriptorCutter,
    ShortPiece,
)
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate

pytestmark = pytest.mark.model

PIECE = ("address", "bytes", "beats", "left", "last_disable", "irq", "round", "epoch")
REQUEST = ("dwords", "first_be", "last_be", "end", "tail")


@dataclass
class Descriptor:
    """A descriptor as the DMA's descriptor table gives it."""

    address: int
    length: int
    irq_disable: int
    last_disable: int
    round: int
    epoch: int

    @staticmethod
    def random(rng):
        """Return a random DMA descriptor at any byte. Many have few bytes, and some have none."""
        length = rng.choice([rng.randrange(8), rng.randrange(600), rng.randrange(4000)])
        return Descriptor(
            rng.getrandbits(63), length, *(rng.getrandbits(1) for _ in range(3)), rng.getrandbits(2)
        )


class Table(LiteXModule):
    """The ports of SettledTable that DescriptorCutter uses."""

    def __init__(self):
        self.source = stream.Endpoint(descriptor_layout(address_width=numbers.ADDRESS_WIDTH))
        self.flush = Signal()
        self.round = Signal()
        self.epoch = Signal(EPOCH_BITS)


class Cutter(LiteXModule):
    """A DescriptorCutter with the table that feeds it."""

    def __init__(self):
        self.table = Table()
        self.cutter = DescriptorCutter(self.table)


def cut(descriptors, largest, rng):
    """Run the descriptors through a cutter. Return the pieces, as dictionaries of their fields.

    Both sides make random pauses. A piece with `terminate` ends its descriptor early.
    """
    dut, pieces = Cutter(), []
    source, table = dut.cutter.source, dut.table
    density = rng.choice([0.2, 0.6, 1])

    @passive
    def give():
        yield dut.cutter.run.eq(1)
        yield dut.cutter.largest.eq(largest)
        yield
        yield
        for one in descriptors:
            while rng.random() >= density:
                yield
            for name in ("address", "length", "irq_disable", "last_disable"):
                yield getattr(table.source, name).eq(getattr(one, name))
            yield table.round.eq(one.round)
            yield table.epoch.eq(one.epoch)
            yield table.source.valid.eq(1)
            yield
            while not (yield table.source.ready):
                yield
            yield table.source.valid.eq(0)

    def take():
        stalls, idle, waiting = rng.choice([0, 0.4, 0.8]), 0, None
        while idle < 200:
            piece = {}
            if (yield source.valid):
                for name in (*PIECE, *REQUEST, "first", "last"):
                    piece[name] = yield getattr(source, name)
            assert waiting in (None, piece), "an offered piece was withdrawn or changed"
            taken = piece and (yield source.ready)
            if taken:
                pieces.append({**piece, "terminate": (yield dut.cutter.terminate)})
            waiting = piece if piece and not taken else None
            idle = 0 if piece else idle + 1
            yield source.ready.eq(rng.random() >= stalls)
            yield dut.cutter.terminate.eq(rng.random() < 0.1)
            yield

    simulate(dut, [give(), take()])
    return pieces


def request(address, count):
    """Return the fields of the request for `count` bytes from `address` on."""
    used = [byte for byte in range(address & 3, (address & 3) + (count or 1))]
    dwords = used[-1] // 4 + 1
    enables = [sum(1 << byte % 4 for byte in used if byte // 4 == n) for n in (0, dwords - 1)]
    end = used[-1] // BEAT_BYTES
    return {
        "dwords": dwords,
        "first_be": enables[0],
        "last_be": enables[1] if dwords > 1 else 0,
        "end": end,
        "tail": int(end == max(1, -(-count // BEAT_BYTES))),
    }


def some(values, names):
    return {name: values[name] for name in names}


@pytest.mark.parametrize("largest", [128, 256, 512])
@each_seed(3)
def test_pieces_are_the_descriptor_s_bytes(largest, seed):
    """The pieces of each descriptor follow each other without a gap and are as large as allowed.

    No request of a piece has more than `largest` bytes in whole dwords, and its byte enables are on
    for the bytes of the piece alone. A piece that the stream terminates is its descriptor's last.
    """
    rng = random.Random(f"{seed} {largest}")
    descriptors = [Descriptor.random(rng) for _ in range(80)]
    pieces = iter(cut(descriptors, largest, rng))
    for one in descriptors:
        address, left, piece = one.address, one.length, {"last": 0, "terminate": 0}
        while not (piece["last"] or piece["terminate"]):
            piece = next(pieces)
            size = min(left, largest - BEAT_BYTES * bool(address & 3))
            assert some(piece, PIECE) == {
                "address": address,
                "bytes": size,
                "beats": -(-size // BEAT_BYTES),
                "left": left,
                "last_disable": one.last_disable,
                "irq": 1 - one.irq_disable,
                "round": one.round,
                "epoch": one.epoch,
            }
            assert some(piece, REQUEST) == request(address, size)
            assert 4 * piece["dwords"] <= largest
            assert (piece["first"], piece["last"]) == (left == one.length, left == size)
            address, left = address + size, left - size
    assert not list(pieces), "more pieces than the descriptors have"


def test_a_short_piece_has_the_request_of_its_bytes():
    """A piece that the stream ends early has the request of its bytes, at every offset and size."""
    offset, beat, count = Signal(2), Signal(max=PIECE_BEATS), Signal(max=BEAT_BYTES + 1)
    dut = ShortPiece(offset, beat, count)

    def drive():
        for at in range(4):
            for size in range(1, PIECE_BEATS * BEAT_BYTES - 3):
                for whole in {size // BEAT_BYTES, (size - 1) // BEAT_BYTES}:
                    yield offset.eq(at)
                    yield beat.eq(whole)
                    yield count.eq(size - BEAT_BYTES * whole)
                    yield
                    yield
                    assert (yield dut.bytes) == size
                    for name, value in request(at, size).items():
                        assert (yield getattr(dut, name)) == value, (at, size, whole, name)

    simulate(dut, [drive()])
