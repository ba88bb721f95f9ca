# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of the block Scale in examples/scale, which multiplies each word by a power of two."""

import random

import pytest
from litex.soc.interconnect import stream
from migen import passive

from gateware.numbers import DATA_WIDTH
from gateware.user.slot import find_occupant, make_occupant
from tools.testing.repository import ROOT
from tools.testing.seeds import each_seed
from tools.testing.stream_model import consume, produce, simulate, watch

Scale = find_occupant(f"{ROOT}/examples/scale/scale.py:Scale")


def scaled(beat, shift):
    """Return the expected beat: each of the eight words times 2 to the `shift`, modulo 2^32."""
    words = [beat >> n & 0xFFFF_FFFF for n in range(0, DATA_WIDTH, 32)]
    return sum((word << shift & 0xFFFF_FFFF) << 32 * n for n, word in enumerate(words))


def test_it_fits_the_user_slot():
    """The user slot accepts Scale, and Scale's register has the name that the C client uses."""
    occupant = make_occupant(Scale, platform=None)
    assert isinstance(occupant.sink, stream.Endpoint)
    assert [register.name for register in occupant.get_csrs()] == ["shift"]


@pytest.mark.parametrize("shift", [0, 1, 13, 31])
@each_seed(2)
def test_every_word_is_scaled(shift, seed):
    """With random stalls Scale's stream c2h has the words of its stream h2c, each scaled."""
    rng = random.Random(seed)
    dut = Scale(platform=None)
    beats = [rng.randrange(2**DATA_WIDTH) for _ in range(100)]
    taken = []

    def set_shift():
        yield dut.shift.storage.eq(shift)

    simulate(
        dut,
        [
            set_shift(),
            produce(dut.sink, beats, random.Random(rng.random()), rng.choice([0.4, 1])),
            consume(
                dut.source, taken, len(beats), random.Random(rng.random()), rng.choice([0.4, 1])
            ),
            watch(dut.source),
        ],
    )
    assert taken == [scaled(beat, shift) for beat in beats]


def test_one_beat_per_cycle():
    """Without stalls the block Scale sends a beat in every cycle after the first one."""
    dut = Scale(platform=None)
    taken = []
    gaps = []

    @passive
    def count_gaps():
        while True:
            if taken and len(taken) < 100:
                gaps.append(not (yield dut.source.valid))
            yield

    simulate(
        dut,
        [
            produce(dut.sink, range(100), random.Random(0), density=1),
            consume(dut.source, taken, 100, random.Random(0), density=1),
            count_gaps(),
        ],
    )
    assert len(gaps) > 90 and not any(gaps)
