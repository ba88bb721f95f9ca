# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of mmio/axi.py, the user slot's AXI4 bus, and of mmio/axi_memory.py, a memory at such a
bus.
"""

import random

import pytest
from litex.soc.interconnect import axi
from migen import passive

from gateware.mmio.axi import axi_ports, axi_problem, user_axi
from gateware.mmio.axi_memory import BEAT_BYTES, LEAST_CYCLES, AxiMemory
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate

SIZE, ROWS = 1024, 1024 // BEAT_BYTES


def give(channel, **values):
    """Offer one request or beat on an AXI channel until it is taken. `values` are its fields."""
    for name, value in values.items():
        yield getattr(channel, name).eq(value)
    yield channel.valid.eq(1)
    yield
    while not (yield channel.ready):
        yield
    yield channel.valid.eq(0)


def write(bus, rng, model, number):
    """Write a random burst with random byte strobes to the AXI4 bus, and the same bytes to the
    bytearray `model`.
    """
    row, count = rng.randrange(ROWS - 4), rng.randint(1, 4)
    yield from give(
        bus.aw, addr=row * BEAT_BYTES + rng.choice([0, 4, 28]), id=number, len=count - 1
    )
    for n in range(count):
        data, mask = rng.randbytes(BEAT_BYTES), rng.getrandbits(BEAT_BYTES)
        yield from give(bus.w, data=int.from_bytes(data, "little"), strb=mask, last=n == count - 1)
        for byte in range(BEAT_BYTES):
            if mask >> byte & 1:
                model[(row + n) * BEAT_BYTES + byte] = data[byte]


@passive
def take(channel, taken, rng, share, *fields):
    """Be ready in a `share` of the cycles, and append (cycle, values of `fields`) to `taken` for
    each beat.
    """
    cycle = 0
    while True:
        ready = rng.random() < share
        yield channel.ready.eq(ready)
        yield
        cycle += 1
        if (yield channel.valid) and (yield channel.ready):
            values = []
            for field in fields:
                values.append((yield getattr(channel, field)))
            taken.append((cycle, *values))


@pytest.mark.parametrize("latency", [LEAST_CYCLES, 3, 50])
@each_seed(2)
def test_reads_bring_what_was_written(latency, seed):
    """AxiMemory's reads return the data that bursts of any length and strobes have written, at any
    latency.
    """
    rng = random.Random(seed)
    dut = AxiMemory(SIZE, latency)
    bus = dut.bus
    model = bytearray(SIZE)
    ended = []
    beats = []
    expected = []

    def master():
        for number in range(20):
            yield from write(bus, rng, model, number)
        while len(ended) < 20:
            yield
        for number in range(60):
            row, count = rng.randrange(ROWS - 4), rng.randint(1, 4)
            yield from give(bus.ar, addr=row * BEAT_BYTES, id=number, len=count - 1)
            for n in range(row, row + count):
                data = int.from_bytes(model[n * BEAT_BYTES : (n + 1) * BEAT_BYTES], "little")
                expected.append((number, data, n == row + count - 1))
        while len(beats) < len(expected):
            yield

    share = rng.choice([1, 0.6])
    simulate(
        dut,
        [
            master(),
            take(bus.b, ended, rng, share, "id"),
            take(bus.r, beats, rng, share, "id", "data", "last"),
        ],
    )
    assert [number for _, number in ended] == list(range(20))
    assert [tuple(beat[1:]) for beat in beats] == expected


@pytest.mark.parametrize("latency", [LEAST_CYCLES, 7, 50])
def test_an_answer_takes_the_latency_and_bursts_follow_without_a_gap(latency):
    """AxiMemory's first beat comes `latency` cycles after its request. 32 reads in a row leave no
    gap.
    """
    dut = AxiMemory(SIZE, latency)
    bus = dut.bus
    beats = []
    asked = []

    def master():
        cycle = 0
        yield bus.ar.len.eq(1)
        yield bus.ar.valid.eq(1)
        while len(asked) < 32:
            yield
            cycle += 1
            if (yield bus.ar.ready):
                asked.append(cycle)
        yield bus.ar.valid.eq(0)
        while len(beats) < 64:
            yield

    # A share of 1 is ready in every cycle, so this generator decides nothing and has a fixed seed.
    simulate(dut, [master(), take(bus.r, beats, random.Random(0), 1, "id")])
    cycles = [beat[0] for beat in beats]
    assert cycles[0] - asked[0] == latency
    assert cycles == list(range(cycles[0], cycles[0] + 64))


@pytest.mark.parametrize(
    "size, latency, said",
    [
        (1000, 2, "1000 bytes; it must be a power of two"),
        (16, 2, "16 bytes.*at least 32"),
        (1024, 1, "latency of 1 cycles; it must be 2 or more"),
    ],
)
def test_what_cannot_be_built_is_refused(size, latency, said):
    """The error for a size or latency that cannot be built names the value and the rule."""
    with pytest.raises(ValueError, match=said):
        AxiMemory(size, latency)


def test_a_bus_that_does_not_fit_is_told():
    """axi_problem() says what is wrong with an AXI bus and which value it must have, or returns
    None.
    """
    assert axi_problem(user_axi()) is None
    assert axi_problem(3) == "is 3"
    bus = axi.AXIInterface(data_width=128, address_width=20, id_width=8)
    assert axi_problem(bus) == "has a data_width of 128, which must be 256"


def test_the_master_drives_requests_and_takes_answers():
    """axi_ports() gives the ports of an AXI master the right directions.

    `valid` has the direction of its channel's data, and `ready` has the opposite one.
    """
    ports = axi_ports(user_axi())
    assert {
        "o_axi_aw_valid",
        "i_axi_aw_ready",
        "o_axi_w_payload_strb",
        "i_axi_b_valid",
        "o_axi_b_ready",
        "i_axi_r_payload_data",
        "i_axi_r_payload_last",
    } <= set(ports)
    assert len(ports["i_axi_r_payload_data"]) == 256
