# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of host reads that time out: their late completions are recognised, and their tags are not
used until then.

A completion that no read waits for breaks a rule. A late completion of a read that timed out breaks
none.
"""

import random

import pytest

from sim.test.link.root_probe import run
from tools.testing.seeds import each_seed

REMEMBERED = 128  # reads that the host remembers after their time-out: kLateReads in host_cpu.cpp
TIMEOUT = 60_000  # ns; the host's completion timeout is shorter
UNEXPECTED = "no read with this tag is outstanding"


def timed_out(count):
    """Return commands by which `count` host reads with tags 0, 1 ... time out. One more read is
    then under way."""
    return [*["host 0"] * count, f"run {TIMEOUT}", "host 0", "run 1000"]


@pytest.mark.parametrize("count", [1, REMEMBERED, REMEMBERED + 1, 200])
def test_the_latest_are_recognised(count):
    """Late completions of the last 128 host reads that timed out are dropped. The read that is
    under way still gets its answer."""
    latest = range(max(0, count - REMEMBERED), count)
    seen = run(
        *timed_out(count), *(f"cpl {tag} 4 7" for tag in latest), f"cpl {count} 4 7", "run 1000"
    )
    assert [ok for _, ok in seen.answers] == [False] * count + [True]


@pytest.mark.parametrize("tag", [0, 200 - REMEMBERED - 1])
def test_older_ones_are_forgotten(tag):
    """A late completion of a read older than the last 128 that timed out counts as unexpected, and
    breaks a rule."""
    assert UNEXPECTED in run(*timed_out(200), f"cpl {tag} 4 7", "run 100", refused=True)


def test_a_late_completion_comes_once():
    """If a read timed out and has got its late completion, a second completion with its tag counts
    as unexpected."""
    assert UNEXPECTED in run(*timed_out(3), "cpl 1 4 7", "cpl 1 4 7", "run 100", refused=True)


def test_a_reset_forgets_what_is_late():
    """After a reset of the card and its link, a completion of an earlier host read counts as
    unexpected."""
    assert UNEXPECTED in run(*timed_out(1), "reset", "cpl 0 4 7", "run 100", refused=True)


@each_seed(4)
def test_a_tag_that_rests_is_not_used(seed):
    """Two host reads under way never have the same tag, whichever reads time out or are answered
    late."""
    rng, commands, tags, under_way, late = random.Random(seed), [], [], set(), set()
    for tag in range(400):
        tag %= 256
        if tag in under_way | late:
            continue
        commands += ["host 0"]
        tags.append(tag)
        under_way.add(tag)
        choice = rng.random()
        if choice < 0.3:
            commands += [f"run {TIMEOUT}"]
            late, under_way = late | under_way, set()
        elif choice < 0.6 and late:
            answered = rng.choice(sorted(late))
            commands += ["run 1000", f"cpl {answered} 4 7"]
            late.remove(answered)
        elif choice < 0.9:
            commands += ["run 1000", f"cpl {tag} 4 7", "run 1000"]
            under_way.remove(tag)
        if len(late) > REMEMBERED - 40:
            break
    assert [request[4] for request in run(*commands, "run 1000").requests] == tags
