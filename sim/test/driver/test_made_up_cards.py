# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of parts of the driver in user space: capture, virtio, read() in LitePCIe's loop, the end
of h2c streams, and the stop of DMA.

Each part has a C program that includes the driver's sources, and stands for the kernel and for a
card. So a test takes seconds, where a guest takes minutes. A program has tests with fixed steps,
and may have random sequences of steps that are compared with a small model.
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
        pytest.param("dma", id="the stop of a direction of DMA, and of bus mastering"),
        pytest.param("sync", id="fsync() and close() of an h2c stream"),
        pytest.param("rw", id="read() in LitePCIe's loop"),
        pytest.param("transport", id="the transport of virtio, and the devices of the card"),
    ],
)
def test_the_driver_keeps_its_promises_to_a_made_up_card(name):
    """The C program `name` finds no fault in its part of the driver. If one of its checks fails, it
    prints a sentence on stderr."""
    done = subprocess.run([program(name)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{name}: ok\n"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("node", id="files of the capture's queues"),
        pytest.param("rw", id="a card that overtakes read()"),
        pytest.param("transport", id="virtio drivers and two devices"),
    ],
)
def test_any_order_of_calls_and_events_is_right(name):
    """Calls of programs, actions of the card, resets, sleeps and the card's removal come in random
    order. Each call has the model's result. After each step queues, rings, interrupts and memory
    are those of the model. A check that fails names the seed and the step on stderr."""
    first = 1 + SHIFT * SEQUENCES
    print(f"seeds {first} to {first + SEQUENCES - 1}")
    command = [program(name), "random", str(first), str(SEQUENCES), str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{name}: {SEQUENCES} random sequences from seed {first} on: ok\n"
