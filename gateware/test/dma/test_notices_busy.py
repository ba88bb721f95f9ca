# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/notices.py: the signal `busy` of a DMA engine, which is high while it has work.

Records and status lines that are not yet written are work, too.
"""

import random

import pytest

from gateware.endpoint.departure import PULSES
from gateware.test.dma.notice_bench import ALL, WAYS, Bench, packet
from gateware.test.dma.notice_host import Host
from tools.testing.seeds import each_seed

pytestmark = pytest.mark.model


def test_waiting_is_no_work():
    """A DMA engine that only waits is not busy: c2h that waits for data, h2c that waits for
    descriptors.
    """
    bench = Bench(1)

    def main():
        yield from bench.set_up(ALL, flush=50)
        yield from bench.program("c2h", [(0x1000, 4096, True)])
        for way in WAYS:
            yield from bench.enable(way, 1)
        yield from bench.calm(100)

    bench.run(main())
    assert not bench.log


@each_seed(4)
@pytest.mark.parametrize("way", WAYS)
def test_busy_lasts_until_all_is_told(way, seed):
    """A DMA engine is busy from its first descriptor until its last record or line has left and its
    last interrupt is sent.

    Device time stands still while nothing is busy, so a gap would stop the card for ever. h2c also
    stays busy until a slow user has taken all data. The other direction only waits in this test.
    """
    rng = random.Random(seed)
    bench = Bench(
        seed, ready=rng.choice([0.2, 1.0]), density=rng.choice([0.3, 1.0]) if way == "h2c" else 1.0
    )
    buffers = {
        each: [(n << 20, rng.choice([64, 500]), rng.random() < 0.3) for n in range(1, 9)]
        for each in WAYS
    }
    begun = []

    def main():
        yield from bench.set_up(ALL, flush=30)
        other = next(each for each in WAYS if each != way)
        if other == "c2h":
            yield from bench.program(other, buffers[other])
        yield from bench.enable(other, 1)
        yield from bench.calm()
        begun.append(bench.now)
        yield from bench.enable(way, 1)
        yield from bench.program(way, buffers[way])
        yield from bench.calm()
        yield from bench.wait(600)

    beats = [beat for _ in range(8) for beat in packet(rng, 60)] if way == "c2h" else []
    bench.run(main(), beats)
    host = Host(bench, buffers)
    assert host.lines[way][-1][1] == 8
    last = max(ended for kind, _, ended, _ in bench.log if kind != "count")
    first = next(n for n in range(begun[0], len(bench.busy)) if bench.busy[n])
    last = max(last, bench.got_at)
    assert all(bench.busy[first:last])
    # The last write leaves with the second pulse of `sent`, and a pulse comes in every cycle.
    assert not any(bench.busy[last + 2 + PULSES :])


def test_data_without_a_buffer_is_work():
    """A beat that waits for a c2h buffer keeps the engine busy.

    If c2h is disabled, the beat is dropped.
    """
    bench = Bench(1)

    def main():
        yield from bench.set_up(0)
        yield from bench.enable("c2h", 1)
        yield from bench.wait(300)
        assert all(bench.busy[-200:])
        yield from bench.enable("c2h", 0)
        yield from bench.calm()

    bench.run(main(), [(n, 0, 0, 0) for n in range(5000)])


def test_a_loop_is_work():
    """A DMA engine in LitePCIe's loop mode is always busy while it is on, even without
    descriptors.
    """
    bench = Bench(1)

    def main():
        for way in WAYS:
            yield from bench.write(f"{WAYS[way]}_table_loop_prog_n", 1)
            yield from bench.wait(5)
            assert not (yield bench.dut.writer.busy) and not (yield bench.dut.reader.busy)
            yield from bench.enable(way, 1)
            yield from bench.wait(100)
            assert all(bench.busy[-80:])
            yield from bench.enable(way, 0)
            yield from bench.calm()

    bench.run(main())
