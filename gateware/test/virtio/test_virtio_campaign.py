# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The long campaign of races between a virtio queue's interrupts and a driver that sleeps."""

import os

import pytest

from gateware.test import spinal_suites

pytestmark = [pytest.mark.spinal, pytest.mark.soak]

SUITE = "lanebox.virtio.queue.InterruptRaceTest"
WAKES = 10_000_000 if os.environ.get("SOAK") == "full" else 1_000_000
SECONDS = 4 * 3600


def test_a_driver_that_sleeps_is_always_woken(monkeypatch):
    """In 10^6 wake-ups, and 10^7 with SOAK=full, no driver sleeps on beside used entries."""
    monkeypatch.setenv("LANEBOX_WAKES", str(WAKES))
    monkeypatch.setattr(spinal_suites, "PROCESSOR_SECONDS", SECONDS)
    monkeypatch.setattr(spinal_suites, "SECONDS", SECONDS)
    with spinal_suites.Runner([], fresh=True) as runner:
        result = runner._run(SUITE)
    print(result.text[-3000:])
    assert result.passed, result.text
    assert result.text.count(f"- {WAKES // 4} times the driver is woken") == 4
