# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/pattern.py, the generator and the checker of the test pattern."""

import random

from litex.gen import LiteXModule
from migen import Cat, Module, Signal, passive

from gateware.dma.pattern import (
    LANE_BITS,
    Pattern,
    PatternChecker,
    PatternGenerator,
    pattern_dwords,
)
from gateware.numbers import DATA_WIDTH, DWORD_WIDTH, DWORDS_PER_BEAT
from gateware.test.dma.whole_stream import Whole, all_of, beats_of, partners
from tools.testing.csr_model import CsrBench
from tools.testing.seeds import each_seed
from tools.testing.stream_model import consume, produce, simulate, wait, watch


def pattern_beat(number):
    """Return beat `number` of the test pattern as an integer of 256 bits.

    Dword i of the stream has the value i modulo 2^32. The first dword of a beat is in the lowest
    bits.
    """
    first = number * DWORDS_PER_BEAT
    return sum(
        (first + lane) % 2**DWORD_WIDTH << lane * DWORD_WIDTH for lane in range(DWORDS_PER_BEAT)
    )


def random_beats(rng, count):
    return [rng.randrange(2**DATA_WIDTH) for _ in range(count)]


# The generator of the pattern ---------------------------------------------------------------------


@each_seed(4)
def test_generator_sends_the_pattern(seed):
    """The pattern generator sends the pattern from dword 0 on under random stalls, and retracts no
    beat.

    Meanwhile it takes no beat from the user's stream.
    """
    rng = random.Random(seed)
    dut = PatternGenerator()
    taken = []

    def control():
        yield dut.sink.valid.eq(1)
        yield dut.sink.data.eq(rng.randrange(2**DATA_WIDTH))
        yield dut.enable.eq(1)
        yield from wait(rng.randrange(10))
        yield dut.run.eq(1)
        while len(taken) < 200:
            yield
            assert not (yield dut.sink.ready)

    simulate(
        dut,
        [control(), consume(dut.source, taken, 200, rng, rng.choice([0.3, 1])), watch(dut.source)],
    )
    assert taken == [pattern_beat(number) for number in range(200)]


@each_seed(4)
def test_generator_starts_again(seed):
    """The generated pattern begins with dword 0 again each time `enable` and `run` have both become
    true.
    """
    rng = random.Random(seed)
    dut = PatternGenerator()
    taken = []

    def control():
        yield dut.source.ready.eq(1)
        for _ in range(10):
            yield dut.enable.eq(1)
            yield dut.run.eq(1)
            yield from wait(rng.randrange(1, 20))
            for control in rng.choice([[dut.enable], [dut.run], [dut.enable, dut.run]]):
                yield control.eq(0)
            yield from wait(rng.randrange(1, 4))
            taken.append(None)

    @passive
    def monitor():
        while True:
            if (yield dut.source.valid) and (yield dut.enable):
                taken.append((yield dut.source.data))
            yield

    simulate(dut, [control(), monitor()])
    runs, run = [], []
    for beat in taken:
        if beat is None:
            runs, run = runs + [run], []
        else:
            run.append(beat)
    assert len(runs) == 10
    for run in runs:
        assert run and run == [pattern_beat(number) for number in range(len(run))]


@each_seed(1)
def test_pattern_of_any_beat(seed):
    """The dwords of the test pattern count up to 2^32 - 1 and then continue with 0."""
    dut = Module()
    beat = Signal(DWORD_WIDTH - LANE_BITS)
    data = Signal(DATA_WIDTH)
    dut.comb += data.eq(Cat(*pattern_dwords(beat)))
    last = 2 ** len(beat) - 1

    def check():
        for number in [0, 1, last, last + 1, *random.Random(seed).sample(range(last), 20)]:
            yield beat.eq(number)
            yield
            yield
            assert (yield data) == pattern_beat(number)

    simulate(dut, [check()])


@each_seed(4)
def test_streams_pass_unchanged_while_off(seed):
    """While the pattern is off, both streams pass with all fields unchanged.

    No beat is retracted.
    """
    rng = random.Random(seed)
    dut = Pattern()
    ends = {
        name: Whole(getattr(dut, name), name.endswith("sink"))
        for name in ("h2c_sink", "h2c_source", "c2h_sink", "c2h_source")
    }
    dut.submodules += ends.values()
    h2c, c2h = (beats_of(ends["h2c_sink"], rng, 150) for _ in range(2))
    h2c_taken, c2h_taken = [], []
    simulate(
        CsrBench(dut),
        [
            *partners(ends["h2c_sink"], ends["h2c_source"], h2c, h2c_taken, rng),
            *partners(ends["c2h_sink"], ends["c2h_source"], c2h, c2h_taken, rng),
        ],
    )
    assert h2c_taken == h2c
    assert c2h_taken == c2h


@each_seed(1)
def test_the_pattern_is_no_packet(seed):
    """`last`, `bytes` and `error` of the user's stream do not appear in the generated pattern."""
    dut = PatternGenerator()
    taken = []

    @passive
    def no_end():
        while True:
            assert not (yield all_of(dut.source)[DATA_WIDTH:])
            yield

    def control():
        yield dut.sink.valid.eq(1)
        for field in (dut.sink.bytes, dut.sink.error, dut.sink.last):
            yield field.eq(1)
        yield dut.enable.eq(1)
        yield dut.run.eq(1)
        while len(taken) < 20:
            yield

    simulate(dut, [control(), consume(dut.source, taken, 20, random.Random(seed)), no_end()])


# The checker of the pattern -----------------------------------------------------------------------


@each_seed(8)
def test_checker_finds_every_wrong_dword(seed):
    """The pattern checker counts beats and wrong beats, and reports the number of the first wrong
    beat.
    """
    rng = random.Random(seed)
    dut = PatternChecker()
    beats = [pattern_beat(number) for number in range(200)]
    wrong = sorted(rng.sample(range(200), rng.randrange(0, 6)))
    for number in wrong:
        for _ in range(rng.randrange(1, 3)):
            lane = rng.randrange(DWORDS_PER_BEAT)
            beats[number] ^= 1 << lane * DWORD_WIDTH + rng.randrange(DWORD_WIDTH)
    wrong = [number for number in wrong if beats[number] != pattern_beat(number)]

    def run():
        yield dut.enable.eq(1)
        yield from produce(dut.sink, beats, rng, rng.choice([0.3, 1]))
        yield from wait(3)
        assert (yield dut.beats) == len(beats)
        assert (yield dut.errors) == len(wrong)
        assert (yield dut.first_error) == (wrong[0] if wrong else 0)

    simulate(dut, [run()])


@each_seed(2)
def test_checker_takes_a_beat_every_cycle_and_passes_none_on(seed):
    """While enabled, the pattern checker takes a beat in every cycle and passes none to the
    user.
    """
    dut = PatternChecker()

    @passive
    def always_ready():
        yield
        yield
        while True:
            assert (yield dut.sink.ready)
            assert not (yield dut.source.valid)
            yield

    def run():
        yield dut.enable.eq(1)
        yield
        yield from produce(dut.sink, random_beats(random.Random(seed), 50), random.Random(seed))

    simulate(dut, [run(), always_ready()])


@each_seed(1)
def test_results_stay_until_the_next_check(seed):
    """The pattern checker's results stay readable after a check. The next check starts at dword 0
    with counts of 0.
    """
    bench = CsrBench(Pattern())
    sink = bench.dut.h2c_sink
    rng = random.Random(seed)

    def results():
        values = []
        for name in ("h2c_beats", "h2c_errors", "h2c_first_error"):
            values.append((yield from bench.read(name)))
        return values

    def run():
        beats = [pattern_beat(number) for number in range(40)]
        beats[7] ^= 1 << 40
        beats[30] ^= 1 << 255
        yield from bench.write("control", 2)
        yield from produce(sink, beats, rng)
        yield from wait(3)
        assert (yield from results()) == [40, 2, 7]
        yield from bench.write("control", 0)
        yield bench.dut.h2c_source.ready.eq(1)
        yield from produce(sink, random_beats(rng, 5), rng)
        yield from wait(3)
        assert (yield from results()) == [40, 2, 7]
        yield from bench.write("control", 2)
        yield from produce(sink, [pattern_beat(number) for number in range(9)], rng)
        yield from wait(3)
        assert (yield from results()) == [9, 0, 0]

    simulate(bench, [run()])


# Generator and checker together -------------------------------------------------------------------


class Wrapped(LiteXModule):
    """A pattern stage whose c2h output is connected to its h2c input."""

    def __init__(self):
        self.pattern = Pattern()
        self.bench = CsrBench(self.pattern)
        self.comb += self.pattern.c2h_source.connect(self.pattern.h2c_sink)


def test_generator_and_checker_agree():
    """The pattern checker accepts every beat of the generator, at one beat in each cycle."""
    dut = Wrapped()

    def run():
        yield dut.pattern.c2h_run.eq(1)
        yield from dut.bench.write("control", 3)
        yield from wait(100)
        assert (yield from dut.bench.read("h2c_errors")) == 0
        assert (yield from dut.bench.read("h2c_beats")) >= 95

    simulate(dut, [run()])
