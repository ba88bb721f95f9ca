# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of the beginning and the end of a run of dma/h2c.py: what is stopped, reset or begun anew
leaves nothing behind, and the loop status is LitePCIe's.
"""

import pytest
from migen import passive

from gateware.dma.descriptors import BEAT_BYTES
from gateware.test.dma.h2c_bench import Bench, ends, until
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate

pytestmark = pytest.mark.model


@each_seed(3)
def test_a_stopped_run_leaves_nothing_to_the_next(seed):
    """A stopped h2c engine is at rest when its reads have completed.

    The next run gives the user no data of them.
    """
    bench = Bench(seed, latency=200, density=0.3)
    first = [(2048 * n, 2048, True) for n in range(4)]
    other = [(0x8_0000 + 1024 * n, 1024, True) for n in range(4)]

    def main():
        yield from bench.program(first)
        yield from bench.write("enable", 1)
        for _ in range(bench.rng.randrange(20, 500)):
            yield
        yield from bench.write("enable", 0)
        yield from bench.write("table_reset", 1)
        bench.taken.clear()
        assert (yield from bench.status()) == 0
        # The test restarts the h2c engine at once, or waits until the engine is at rest.
        restarted = bench.rng.random() < 0.5
        yield
        yield
        while not restarted and not (yield from bench.at_rest()):
            yield
        assert restarted or bench.host.asked == bench.host.given
        yield from bench.program(other)
        yield from bench.write("enable", 1)
        while (yield from bench.status()) < len(other):
            yield
        yield from until(lambda: len(bench.taken) == len(other) * 1024 // BEAT_BYTES)

    simulate(bench.bank, [main(), bench.host.accept(), bench.host.answer(), bench.user()])
    assert [data for data, _ in bench.taken] == [
        address + start for address, length, _ in other for start in range(0, length, BEAT_BYTES)
    ]


@each_seed(3)
def test_nothing_counts_after_its_run(seed):
    """Completions that come after h2c was stopped change no status and raise no interrupt."""
    print(f"seed {seed}")
    bench = Bench(seed, latency=300)
    descriptors = [(512 * n, 512, True) for n in range(6)]
    shown, late = [], 0

    @passive
    def watch_end():
        nonlocal late
        while True:
            if shown:
                late += yield bench.dut.irq
                shown.append((yield bench.dut.table.settled))
            yield

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from until(lambda: bench.host.asked >= 4 * 512 // BEAT_BYTES)
        assert bench.host.given == 0
        yield from bench.write("enable", 0)
        yield from bench.write("table_reset", 1)
        shown.append(0)
        while not (yield from bench.at_rest()):
            yield
        assert bench.host.given == bench.host.asked >= 4 * 512 // BEAT_BYTES
        assert (yield from bench.status()) == 0

    simulate(
        bench.bank, [main(), bench.host.accept(), bench.host.answer(), bench.user(), watch_end()]
    )
    assert len(shown) > 100 and set(shown) == {0} and late == 0


def test_nothing_counts_that_a_new_run_drops():
    """If a stopped h2c engine is enabled again at once, the data of the old reads is dropped.

    That data comes while `enable` is already set again, but the new run begins only when the old
    reads have completed. The table is not reset in between.
    """
    bench = Bench(0, latency=100)
    descriptors = [(512 * n, 512, True) for n in range(4)]
    total = 4 * 512 // BEAT_BYTES

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from until(lambda: bench.host.asked == total)
        assert bench.host.given == 0
        yield from bench.write("enable", 0)
        yield from bench.write("enable", 1)
        assert bench.host.given == 0 and (yield bench.dut.enable)
        while not (yield bench.dut.run):
            yield
        assert bench.host.given == total
        assert (yield from bench.status()) == 0

    simulate(
        bench.bank,
        [main(), bench.host.accept(), bench.host.answer(), bench.user(), bench.count_interrupts()],
    )
    assert bench.interrupts == 0 and not bench.taken


def test_what_ends_in_the_cycle_of_a_reset_does_not_count():
    """An h2c descriptor that ends in the same cycle as the table's reset does not count."""
    bench = Bench(0, latency=90)
    table = bench.dut.table
    bench.host.ready = 1.0
    met = []

    @passive
    def watch():
        while True:
            if (yield table.flush):
                met.append((yield table.done))
                assert not (yield table.irq) and not (yield table.counted)
            yield

    def main():
        yield from bench.program([(64 * n, 32, True) for n in range(60)])
        yield from bench.write("enable", 1)
        yield from until(lambda: bench.host.given > 10)
        yield from bench.write("table_reset", 1)
        assert (yield from bench.status()) == 0
        bench.interrupts = 0
        yield from until(lambda: bench.host.given == bench.host.asked)
        for _ in range(10):
            yield
        assert (yield from bench.status()) == 0 and bench.interrupts == 0

    simulate(
        bench.bank,
        [
            main(),
            bench.host.accept(),
            bench.host.answer(),
            bench.user(),
            bench.count_interrupts(),
            watch(),
        ],
    )
    assert met == [1]


def test_zero_in_the_reset_register_resets_nothing():
    """A write of 0 to h2c's reset register leaves the table, its status and the reads as
    they are.
    """
    bench = Bench(0, latency=60)
    descriptors = [(64 * n, 32, True) for n in range(4)]

    def main():
        yield from bench.program(descriptors[:2])
        yield from bench.write("enable", 1)
        yield from bench.reach(2)
        yield from bench.program(descriptors[2:])
        yield from until(lambda: len(bench.host.lengths) == len(descriptors))
        assert (yield from bench.status()) == 2
        yield from bench.write("table_reset", 0)
        assert (yield from bench.status()) == 2
        yield from bench.reach(len(descriptors))
        for _ in range(4):
            yield

    bench.run(main(), ends(descriptors))
    assert bench.interrupts == len(descriptors)


# Width of each half of register `loop_status`, in bits: the upper half counts rounds of the table,
# the lower half is the index in the table.
COUNT_BITS = 16


def test_the_loop_status_wraps(monkeypatch):
    """After 2^16 rounds of the table the count of rounds wraps to 0, and the index is still right.

    Index and count have 16 bits each, so software can tell 2^32 steps apart.
    """
    bench = Bench(1, latency=20)
    table = bench.dut.table
    seen = []
    assert len(table.settled) == 2 * COUNT_BITS

    def main():
        yield from bench.write("table_reset", 1)
        yield from bench.program([(0x1000 * n, 1024, False) for n in range(3)])
        yield from bench.write("table_loop_prog_n", 1)
        # The test sets the count of rounds of the table to two before its wrap.
        yield table.count.eq(2**COUNT_BITS - 2)
        yield from bench.write("enable", 1)
        while len(seen) < 8:
            status = yield from bench.status()
            if not seen or seen[-1] != status:
                seen.append(status)

    simulate(bench.bank, [main(), bench.host.accept(), bench.host.answer(), bench.user()])
    last = 2**COUNT_BITS - 1
    rounds = [last - 1] * 3 + [last] * 3 + [0] * 2
    assert seen == [at << COUNT_BITS | n % 3 for n, at in enumerate(rounds)]


def test_the_loop_status_is_litepcies():
    """In a looped h2c table, index and count of the status are one less than the descriptors done,
    as in LitePCIe.
    """
    bench = Bench(1, latency=60)
    main, seen = bench.follow_loop(0x1000, 1024, 8)
    simulate(bench.bank, [main, bench.host.accept(), bench.host.answer(), bench.user()])
    assert seen == [0x0, 0x1, 0x2, 0x10000, 0x10001, 0x10002, 0x20000, 0x20001]
