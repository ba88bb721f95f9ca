# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The driver's files of capture and virtio, the end of its h2c streams and the stop of its DMA,
each in user space on a card that a program makes up.

The programs include the driver's sources and stand for the kernel, so they take seconds where a
guest takes minutes. Each has tests of a fixed course, and random sequences against a small model.
"""

import subprocess

import pytest

from sim.test.driver.driver_guest import program
from tools.testing.seeds import SHIFT

SEQUENCES = 60  # random sequences of a program in one test
STEPS = 600  # steps of a sequence


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("node", id="the capture's queues, their owners, calls and rings"),
        pytest.param("halt", id="the stop of a direction of DMA, and of bus mastering"),
        pytest.param("drain", id="fsync() and close() of an h2c stream"),
        pytest.param("transport", id="the transport of virtio, and the devices of the card"),
    ],
)
def test_the_driver_keeps_its_promises_to_a_made_up_card(name):
    """Each test of the program holds. A check that fails has a sentence on stderr."""
    done = subprocess.run([program(name)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{name}: ok\n"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("node", id="files of the capture's queues"),
        pytest.param("transport", id="virtio drivers and two devices"),
    ],
)
def test_any_order_of_calls_and_events_is_right(name):
    """Random calls, what the card does, resets, sleeps and the card's end come in any order. Each
    call has the model's result, and after each step queues, rings, interrupts and memory are those
    of the model. A check that fails names the seed and the step on stderr."""
    first = 1 + SHIFT * SEQUENCES
    print(f"seeds {first} to {first + SEQUENCES - 1}")
    command = [program(name), "random", str(first), str(SEQUENCES), str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{name}: {SEQUENCES} random sequences from seed {first} on: ok\n"
