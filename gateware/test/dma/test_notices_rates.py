# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/notices.py: how much of the data's rate records and status lines cost."""

import pytest

from gateware.dma import notices
from gateware.test.dma.notice_bench import ALL, LINES, Bench, packet

pytestmark = pytest.mark.model

# A write of 64 bytes takes this many RQ beats of 32 bytes: PG213's descriptor of 16 bytes, then the
# data.
RQ_BEATS = 3
# A write of 16 records, with PG213's descriptor in front, takes this many RQ beats.
BATCH_BEATS = 9
# A write of a status line, with PG213's descriptor in front, takes this many RQ beats.
LINE_BEATS = 2


def test_messages_of_64_bytes_keep_their_rate():
    """With records and status lines on, messages of 64 bytes come at 0.95 or more of RQ's limit.

    The limit counts the RQ beats of data, records and status lines.
    """
    bench = Bench(1, pace=True, entries=8)
    count = 250
    buffers = [(n << 20, 4096, False) for n in range(1, count + 1)]
    beats = [beat for _ in range(count) for beat in packet(bench.rng, 64)]

    def main():
        yield from bench.set_up(ALL)
        yield from bench.program("c2h", buffers)
        yield from bench.enable("c2h", 1)
        while (yield from bench.status("c2h")) < count:
            yield
        yield from bench.calm()

    bench.run(main(), beats)
    data = [
        ended for kind, _, ended, what in bench.log if kind == "write" and min(what) < LINES["c2h"]
    ]
    assert len(data) == count
    cycles = (data[-20] - data[20]) / (count - 40)
    limit = RQ_BEATS + BATCH_BEATS / 16
    limit += limit / notices.LINE_INTERVAL * LINE_BEATS
    print(f"{cycles:.3f} cycles a message; {limit:.3f} are the limit")
    assert limit / cycles >= 0.95


@pytest.mark.parametrize("duplex", [False, True])
def test_buffers_of_8_kib_cost_little(duplex):
    """With buffers of 8 KiB, the records and status lines of both directions cost at most 1.2 % of
    the rate.
    """

    def cycles(control):
        bench = Bench(1, pace=True, entries=4)
        buffers = [(n << 20, 8192, False) for n in range(1, 25)]

        def main():
            yield from bench.set_up(control)
            yield from bench.program("c2h", buffers)
            if duplex:
                yield from bench.program("h2c", buffers)
                yield from bench.enable("h2c", 1)
            yield from bench.enable("c2h", 1)
            while (yield from bench.status("c2h")) < 20:
                yield

        bench.run(main(), [(n, 0, 0, 0) for n in range(24 * 256)])
        data = [
            ended
            for kind, _, ended, what in bench.log
            if kind == "write" and min(what) < LINES["c2h"]
        ]
        return data[16 * 16] - data[2 * 16]

    without, told = cycles(0), cycles(ALL)
    print(without, told)
    assert told / without <= 1.012
