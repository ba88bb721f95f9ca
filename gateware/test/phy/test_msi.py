# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of phy/msi.py, which sends MSI messages through the hard block."""

import random

from migen import passive

from gateware.phy.msi import MsiSender
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, wait

MESSAGES = 40


@passive
def hard_block(dut, rng, pulses):
    """Model of the hard block: answer each `pulse` after some cycles, and log (MSI enabled, message
    sent).
    """
    while True:
        if (yield dut.pulse):
            enabled = yield dut.enable
            yield from wait(rng.randrange(1, 8))
            sent = rng.random() < 0.6
            pulses.append((enabled, sent))
            yield (dut.sent if sent else dut.fail).eq(1)
            yield
            yield dut.sent.eq(0)
            yield dut.fail.eq(0)
        yield


@passive
def switch(dut, rng):
    """Enable and disable MSI at random, as the host may do."""
    while True:
        yield dut.enable.eq(rng.random() < 0.7)
        yield from wait(rng.randrange(1, 60))


def offer(dut, rng, taken):
    for _ in range(MESSAGES):
        yield from wait(rng.randrange(20))
        yield dut.sink.valid.eq(1)
        yield
        while not (yield dut.sink.ready):
            yield
        taken.append(1)
        yield dut.sink.valid.eq(0)
        yield
    yield from wait(100)


@each_seed(3)
def test_each_message_is_sent_once_and_only_while_enabled(seed):
    """Each MSI message is sent once. It is repeated if it failed, and waits while MSI is
    disabled.
    """
    rng = random.Random(seed)
    dut = MsiSender()
    pulses, taken = [], []
    simulate(dut, [offer(dut, rng, taken), hard_block(dut, rng, pulses), switch(dut, rng)])
    assert len(taken) == MESSAGES
    assert sum(sent for _, sent in pulses) == MESSAGES
    assert not all(sent for _, sent in pulses), "the run had no failure to repeat"
    assert all(enabled for enabled, _ in pulses)
