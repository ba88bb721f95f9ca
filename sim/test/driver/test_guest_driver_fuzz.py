# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Random driver calls by a user without privileges reach every branch of the driver and do no
harm."""

import re
from collections import defaultdict

import pytest

from sim.guest import run
from sim.test.driver.driver_guest import AWAY, CONFINE, FULL, PINNED, boot
from tools.testing.seeds import SHIFT

pytestmark = [pytest.mark.guest, pytest.mark.soak]  # the test of this file takes minutes

# Number of random calls of the driver, and seconds of wall time that they may take.
CALLS, SECONDS = (1_000_000, 7200) if FULL else (20_000, 600)

# {driver call that the program `fuzz` makes: the results of which each must occur, and no other}
EXPECTED = {
    "reg": {"ok", "EPERM", "EBUSY", "EFAULT", "EINVAL", "ENODEV", "EIO"},
    "loopback": {"ok", "EFAULT", "EBUSY", "ENODEV", "EIO"},
    "c2h": {"ok", "EFAULT", "EBUSY", "ENODEV", "EIO"},
    "h2c": {"ok", "EFAULT", "EBUSY", "ENODEV", "EIO"},
    "info": {"ok", "EFAULT"},
    "lock": {"ok", "EFAULT", "ENODEV", "EIO"},
    "c2h_update": {"ok", "EFAULT", "EBUSY", "EINVAL", "ENODEV"},
    "h2c_update": {"ok", "EFAULT", "EBUSY", "EINVAL", "ENODEV"},
    "setup": {"ok", "EFAULT", "EBUSY", "EINVAL", "ENOMEM", "ENODEV", "EIO"},
    "memory": {
        "ok",
        "EFAULT",
        "EBUSY",
        "EINVAL",
        "ENOMEM",
        "EMSGSIZE",
        "EOPNOTSUPP",
        "ENODEV",
        "EIO",
    },
    "ring_info": {"ok", "EFAULT", "EINVAL"},
    "event": {"ok", "EFAULT", "EBUSY", "EINVAL", "EBADF", "ENXIO", "ENODEV", "EIO"},
    "advance": {"ok", "EFAULT", "EBUSY", "EINVAL", "ENODEV", "EIO"},
    "counts": {"ok", "EFAULT", "EINVAL", "ENODEV", "EIO"},
    "packets": {"ok", "EFAULT", "EINVAL", "ENODEV"},
    "bar": {"ok", "EFAULT", "EINVAL", "ENODEV", "EIO"},
    "export": {"ok", "EFAULT", "EBUSY", "EINVAL", "EADDRINUSE", "ENODEV", "EIO"},
    "unknown": {"ENOTTY"},
    "mmap": {"ok", "EINVAL", "EPERM", "EBUSY", "EADDRINUSE", "ENODEV", "EIO"},
    "read": {"ok", "EAGAIN", "EFAULT", "EBUSY", "EINVAL", "ENODEV", "EIO"},
    "write": {"ok", "EAGAIN", "EFAULT", "EBUSY", "EINVAL", "EMSGSIZE", "ENODEV", "EIO"},
    "sync": {"ok", "ENODEV"},
    "poll": {"ok"},
    "open": {"ok", "ENODEV", "EIO"},
}
# {(driver call, result)} that may occur and need not: mmap() refuses an offset beyond a file's
# largest, and a reset may end the wait of fsync().
ALSO = {("mmap", "EOVERFLOW"), ("sync", "EIO")}


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def storm(calls, seed):
    """Return shell commands that let the program `fuzz` make `calls` random driver calls, in a
    memory cgroup of 96 MiB. They then check that the card still works."""
    return [
        *CONFINE,
        # Closing a file waits for data that was written. A held card may never take that data, so
        # the wait is made short.
        "echo 20 >/sys/module/litepcie/parameters/close_timeout_ms",
        PINNED + AWAY,
        f"fuzz /dev/litepcie1 {calls} {seed} 8 9 >/out/fuzz; [ $(pinned) -eq 0 ]",
        # The card must work normally after the random calls.
        "stress cycle /dev/litepcie1 4",
    ]


def fuzz(board, calls, seed, seconds, live=FULL):
    """Run the commands of storm() in a guest. Returns the outcomes and branches that parse() finds
    in the output."""
    programs = ["fuzz", "stress"]
    result = boot(board, storm(calls, seed), programs=programs, timeout=seconds, live=live)
    text = result.files["fuzz"]
    print(f"{text.decode()}in {result.seconds:.0f} s")
    return parse(text.decode())


def parse(text):
    """Return ({call: {result: how often}}, {branch: how often it was reached}) from the text that
    the program `fuzz` printed."""
    counts = defaultdict(dict)
    for name, outcome, number in re.findall(r"fuzz (\w+) (\w+) (\d+)", text):
        counts[name][outcome] = int(number)
    branches = re.findall(r"branch (\d+) of \d+: (.*)", text)
    return counts, {what: int(hits) for hits, what in branches}


def test_calls_reach_every_branch(start_board):
    """Each kind of driver call ends with each of its possible results, each at least once in a
    thousand calls, and with no other result.

    Half of the calls are random. The other half aim at the results that have been reached least.
    """
    seed = 1 + SHIFT
    print(f"seed {seed}")
    with start_board("--pace", "400000") as board:
        counts, branches = fuzz(board, CALLS, seed, SECONDS)
        assert board.stats()["unmapped"] == 0
    check(counts, branches, CALLS)


def check(counts, branches, calls):
    """Fail unless each kind of call ended with all of its results in EXPECTED and no others, each
    often enough for `calls` calls."""
    for call, outcomes in counts.items():
        also = {outcome for name, outcome in ALSO if name == call}
        assert set(outcomes) - also == EXPECTED[call], (call, outcomes)
    reached = {tuple(what.split(":")[0].split()) for what in branches}
    assert reached == {(name, outcome) for name in EXPECTED for outcome in EXPECTED[name]}
    assert not {what: hits for what, hits in branches.items() if hits < calls // 1000}
