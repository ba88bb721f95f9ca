# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Partners of streams for Migen simulations: a producer, a consumer and a protocol monitor.

Each of the three is a generator for run_simulation. A generator sees the values just before a clock
edge and its writes take effect just after the edge, like a register.
"""

from migen import passive

from tools.testing.compiled_sim import run_simulation

# A simulation of a stream counts as hung after this many cycles.
TIMEOUT = 20_000


def simulate(dut, generators):
    """Run a simulation until every generator that is not passive has returned.

    Raises AssertionError after TIMEOUT cycles.
    """

    @passive
    def watchdog():
        for _ in range(TIMEOUT):
            yield
        raise AssertionError(f"hung: the simulation has not ended after {TIMEOUT} cycles")

    run_simulation(dut, [*generators, watchdog()])


def produce(endpoint, beats, rng, density=0.5, field="data"):
    """Offer every beat on the stream, after random gaps, and hold each beat until it is taken.

    `density` is the probability that a beat is offered in a cycle.
    """
    for value in beats:
        while rng.random() >= density:
            yield
        yield getattr(endpoint, field).eq(value)
        yield endpoint.valid.eq(1)
        yield
        while not (yield endpoint.ready):
            yield
        yield endpoint.valid.eq(0)


def consume(endpoint, taken, count, rng, density=0.5, field="data"):
    """Take `count` beats of the stream into the list `taken`, with random stalls.

    No further beat is taken after that. `density` is the probability that the consumer is ready.
    """
    while len(taken) < count:
        if (yield endpoint.valid) and (yield endpoint.ready):
            taken.append((yield getattr(endpoint, field)))
        yield endpoint.ready.eq(len(taken) < count and rng.random() < density)
        yield
    yield endpoint.ready.eq(0)
    yield


@passive
def watch(endpoint, field="data"):
    """Assert that a beat offered on the stream stays offered, unchanged, until it is taken."""
    waiting = None
    while True:
        valid, ready = (yield endpoint.valid), (yield endpoint.ready)
        value = yield getattr(endpoint, field)
        if waiting is not None:
            assert valid, f"a beat of value {waiting:#x} was retracted"
            assert value == waiting, f"a waiting beat changed from {waiting:#x} to {value:#x}"
        waiting = value if valid and not ready else None
        yield


def wait(cycles):
    """Let `cycles` clock cycles of the simulation pass."""
    for _ in range(cycles):
        yield
