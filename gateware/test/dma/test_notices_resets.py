# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/notices.py: which records, status lines and interrupts the host gets if a DMA
direction is reset or stopped.
"""

import random

import pytest

from gateware.endpoint.departure import PULSES
from gateware.test.dma.notice_bench import (
    ALL,
    C2H_LINE,
    H2C_LINE,
    LINES,
    RECORDS,
    WAYS,
    Bench,
    packet,
)
from gateware.test.dma.notice_host import Host
from tools.testing.seeds import each_seed

pytestmark = pytest.mark.model


@each_seed(10)
def test_a_reset_leaves_nothing_of_the_run_before(seed):
    """After a DMA table's reset in the middle of a run, records, counts and status lines start
    again at 0.

    A write that was offered before the reset is finished. No write that begins later may belong to
    the run before the reset.
    """
    rng = random.Random(seed)
    bench = Bench(seed, ready=rng.choice([0.2, 1.0]), density=rng.choice([0.5, 1.0]))
    first = {
        way: [(n << 20, rng.choice([64, 512]), rng.random() < 0.2) for n in range(1, 40)]
        for way in WAYS
    }
    other = {way: [(n << 20, 64, rng.random() < 0.2) for n in range(64, 76)] for way in WAYS}

    def main():
        yield from bench.set_up(ALL)
        for way in WAYS:
            yield from bench.program(way, first[way])
        for way in WAYS:
            yield from bench.enable(way, 1)
        yield from bench.wait(rng.randrange(5, 400))
        for way in rng.sample(list(WAYS), 2):
            yield from bench.reset(way)
            yield from bench.wait(rng.choice([0, 0, 3, 40]))
        # The c2h stream has data but no buffer, so the c2h engine stays busy.
        yield from bench.wait(700)
        for way in WAYS:
            assert (yield from bench.status(way)) == 0
            yield from bench.program(way, other[way])
        for way in WAYS:
            while (yield from bench.status(way)) < 12:
                yield
        yield from bench.wait(700)

    # The c2h stream has more beats than the c2h buffers have room for.
    bench.run(main(), [(n, n % 3 == 0, 0, 0) for n in range(3000)])
    host = Host(bench, first, then=other)
    assert len(host.records) >= 12
    for way in WAYS:
        assert host.lines[way][-1][1] >= 12


@each_seed(6)
@pytest.mark.parametrize("way", WAYS)
def test_the_bytes_of_a_stopped_descriptor_are_not_told(way, seed):
    """If a stop cuts a descriptor short, its bytes are not counted in the status lines of the next
    run.
    """
    rng = random.Random(seed)
    bench = Bench(seed, density=rng.choice([0.5, 1.0]))
    first = {each: [(1 << 20, 4096, True)] for each in WAYS}
    then = {each: [(n << 20, 64, True) for n in range(64, 68)] for each in WAYS}

    def main():
        yield from bench.set_up(ALL)
        yield from bench.program(way, first[way])
        yield from bench.enable(way, 1)
        yield from bench.wait(rng.randrange(60, 110))
        yield from bench.enable(way, 0)
        while not (yield from bench.at_rest(way)):
            yield
        assert (yield from bench.status(way)) == 0
        yield from bench.reset(way)
        yield from bench.program(way, then[way])
        yield from bench.enable(way, 1)
        while (yield from bench.status(way)) < 4:
            yield
        yield from bench.wait(100)

    bench.run(main(), [(n, 0, 0, 0) for n in range(3000)])
    host = Host(bench, first, then=then)
    assert host.lines[way][-1][:2] == (256, 4)
    assert way == "h2c" or [count for count, _ in host.records] == [64] * 4


@pytest.mark.parametrize(
    "way, control",
    [
        ("c2h", RECORDS),
        ("c2h", C2H_LINE),
        ("c2h", ALL),
        ("h2c", H2C_LINE),
        ("h2c", ALL),
    ],
)
def test_a_reset_may_come_in_any_cycle(way, control):
    """A table's reset any number of cycles after a buffer's end drops the notices and interrupts
    not sent.

    In each round of the test one buffer ends that wants an interrupt, and then the table is reset.
    """
    bench = Bench(1, ready=0.3)
    buffers = {each: [(1 << 20, 64, each == way)] for each in WAYS}

    def main():
        yield from bench.set_up(control)
        yield from bench.enable(way, 1)
        for delay in [*range(20)] * 3:
            counts = len([entry for entry in bench.log if entry[0] == "count"])
            yield from bench.program(way, buffers[way])
            while len([entry for entry in bench.log if entry[0] == "count"]) == counts:
                yield
            yield from bench.wait(delay)
            yield from bench.reset(way)
            yield from bench.wait(40)

    bench.run(main(), [beat for _ in range(70) for beat in packet(bench.rng, 64)])
    Host(bench, buffers, then=buffers)
    irqs = sum(entry[0] == "irq" for entry in bench.log)
    assert 20 < irqs < 60


@each_seed(10)
def test_at_rest_all_is_told(seed):
    """A disabled DMA direction reports every buffer that it has counted.

    Then it is idle and writes nothing more, and all of its writes have left the card.
    """
    rng = random.Random(seed)
    bench = Bench(
        seed,
        ready=rng.choice([0.2, 0.5, 1.0]),
        density=rng.choice([0.5, 1.0]),
        leaves=rng.choice([0.01, 0.2, 1.0]),
    )
    buffers = {
        way: [(n << 20, rng.choice([64, 512]), rng.random() < 0.2) for n in range(1, 60)]
        for way in WAYS
    }
    counts = {}

    def main():
        yield from bench.set_up(ALL)
        for way in WAYS:
            yield from bench.program(way, buffers[way])
        for way in WAYS:
            yield from bench.enable(way, 1)
        yield from bench.wait(rng.randrange(5, 400))
        for way in WAYS:
            yield from bench.enable(way, 0)
        for way in WAYS:
            while not (yield from bench.at_rest(way)):
                yield
        rest = len(bench.log)
        for way in WAYS:
            counts[way] = yield from bench.status(way)
        yield from bench.wait(700)
        assert len(bench.log) == rest

    bench.run(main(), [(n, n % 3 == 0, 0, 0) for n in range(3000)])
    for kind, _, ended, what in bench.log:
        if kind in ("write", "irq"):
            way = what if kind == "irq" else "h2c" if min(what) == LINES["h2c"] else "c2h"
            assert ended <= bench.rest[way], f"{way} sends after it has said that it is idle"
        if kind == "write":
            pulses = sum(ended < pulse < bench.rest[way] for pulse in bench.pulses)
            assert pulses >= PULSES, f"{way} says that it is idle before its write has left"
    host = Host(bench, buffers)
    assert len(host.records) == counts["c2h"]
    for way, count in counts.items():
        assert (host.lines[way][-1][1] if host.lines[way] else 0) == count
        shown = sum(irq for *_, irq in buffers[way][:count])
        assert host.irqs[way] == shown if way == "c2h" else host.irqs[way] <= shown
