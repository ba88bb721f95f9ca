# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The long campaigns of virtio queues: races with a driver that sleeps, chains and frames."""

import os
import re

import pytest

from gateware.test import spinal_suites

pytestmark = [pytest.mark.spinal, pytest.mark.soak]

WAKES = 10_000_000 if os.environ.get("SOAK") == "full" else 1_000_000
CHAINS = 1_000_000
FRAMES = 100_000
SECONDS = 4 * 3600


def run(monkeypatch, suite, variable, count):
    """Run a suite with `count` in its variable, for up to SECONDS. Return its report."""
    monkeypatch.setenv(variable, str(count))
    monkeypatch.setattr(spinal_suites, "PROCESSOR_SECONDS", SECONDS)
    monkeypatch.setattr(spinal_suites, "SECONDS", SECONDS)
    with spinal_suites.Runner([], fresh=True) as runner:
        result = runner._run(suite)
    print(result.text[-3000:])
    assert result.passed, result.text
    return result.text


def test_a_driver_that_sleeps_is_always_woken(monkeypatch):
    """In 10^6 wake-ups, and 10^7 with SOAK=full, no driver sleeps on beside used entries."""
    suite = "lanebox.virtio.queue.InterruptRaceTest"
    text = run(monkeypatch, suite, "LANEBOX_WAKES", WAKES)
    assert text.count(f"- {WAKES // 4} times the driver is woken") == 4


def test_random_chains_are_used_as_they_must_be(monkeypatch):
    """10^6 random chains of split and packed rings are used with the right bytes, lengths and
    order, and the device goes on after each driver that breaks the rules.
    """
    suite = "lanebox.virtio.chains.RandomChainsTest"
    text = run(monkeypatch, suite, "LANEBOX_CHAINS", CHAINS)
    done = [int(chains) for chains in re.findall(r"^(\d+) chains in \d+ rounds", text, re.M)]
    assert len(done) == 2 and min(done) >= CHAINS // 2


def test_random_frames_arrive_or_are_counted_as_lost(monkeypatch):
    """10^5 random frames of a net device with two pairs of queues arrive once, in order and with
    the right bytes, or are lost where they may be, and the device goes on after each reset.
    """
    suite = "lanebox.virtio.chains.RandomFramesTest"
    text = run(monkeypatch, suite, "LANEBOX_CHAINS", FRAMES)
    done = re.search(r"^(\d+) frames in \d+ rounds", text, re.M)
    assert done and int(done[1]) >= FRAMES
