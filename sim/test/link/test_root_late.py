# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Host reads that time out: their late completions are recognised, and their tags rest meanwhile.

A completion that no read waits for breaks a rule, but one that comes late breaks none.
"""

import random

import pytest

from sim.test.link.root_probe import run
from tools.testing.seeds import each_seed

REMEMBERED = 128  # host_cpu.cpp, kLateReads
TIMEOUT = 60_000  # ns, longer than the host waits for an answer
UNEXPECTED = "no read with this tag is outstanding"


def timed_out(count):
    """Commands: `count` reads with tags 0, 1 ... time out, and one more read is under way."""
    return [*["host 0"] * count, f"run {TIMEOUT}", "host 0", "run 1000"]


@pytest.mark.parametrize("count", [1, REMEMBERED, REMEMBERED + 1, 200])
def test_the_latest_are_recognised(count):
    """Completions of the last 128 reads that timed out are dropped; the read under way goes on."""
    latest = range(max(0, count - REMEMBERED), count)
    seen = run(
        *timed_out(count), *(f"cpl {tag} 4 7" for tag in latest), f"cpl {count} 4 7", "run 1000"
    )
    assert [ok for _, ok in seen.answers] == [False] * count + [True]


@pytest.mark.parametrize("tag", [0, 200 - REMEMBERED - 1])
def test_older_ones_are_forgotten(tag):
    """A completion of a read before the last 128 is an unexpected one."""
    assert UNEXPECTED in run(*timed_out(200), f"cpl {tag} 4 7", "run 100", refused=True)


def test_a_late_completion_comes_once():
    """The second completion with the tag of a read that timed out is an unexpected one."""
    assert UNEXPECTED in run(*timed_out(3), "cpl 1 4 7", "cpl 1 4 7", "run 100", refused=True)


def test_a_reset_forgets_what_is_late():
    """After a reset no completion of an earlier read is expected any more."""
    assert UNEXPECTED in run(*timed_out(1), "reset", "cpl 0 4 7", "run 100", refused=True)


@each_seed(4)
def test_a_tag_that_rests_is_not_used(seed):
    """Whatever times out or is answered late, two reads under way never have the same tag."""
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
