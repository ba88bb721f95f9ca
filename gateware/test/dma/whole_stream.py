# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The four streams of a stage between DMA and user, with all fields of a beat as one number."""

import random

from litex.gen import LiteXModule
from migen import Cat, Signal

from tools.testing.stream_model import consume, produce, watch


def all_of(endpoint):
    """Return all fields of a beat of the stream as one signal, as produce() and consume() need
    it.
    """
    return Cat(endpoint.data, endpoint.bytes, endpoint.error, endpoint.last)


class Whole(LiteXModule):
    """A stream whose beat has a single field, as produce() and consume() need it."""

    def __init__(self, endpoint, driven):
        self.valid, self.ready = endpoint.valid, endpoint.ready
        fields = all_of(endpoint)
        self.beat = Signal(len(fields))
        self.comb += fields.eq(self.beat) if driven else self.beat.eq(fields)


def beats_of(stream, rng, count):
    """Return a list of `count` random beats for a stream, each as one number."""
    return [rng.getrandbits(len(stream.beat)) for _ in range(count)]


def partners(sink, source, beats, taken, rng, stalls=True):
    """Return a producer, a consumer and a monitor that move all beats from `sink` to `source`."""
    shares = [rng.choice([0.4, 1]) if stalls else 1 for _ in range(2)]
    given, wanted = (random.Random(rng.random()) for _ in range(2))
    return [
        produce(sink, beats, given, shares[0], "beat"),
        consume(source, taken, len(beats), wanted, shares[1], "beat"),
        watch(source, "beat"),
    ]
