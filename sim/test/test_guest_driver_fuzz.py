# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Random calls by a user without privileges reach every branch, and harm nobody."""

import re
from collections import defaultdict

import pytest
from driver_guest import AWAY, CONFINE, FULL, PINNED, boot
from seeds import SHIFT

from sim.guest import run

pytestmark = [pytest.mark.guest, pytest.mark.soak]  # minutes, all together

CALLS, SECONDS = (1_000_000, 7200) if FULL else (20_000, 600)

# Every call, and each way in which it may end.
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
    "memory": {"ok", "EFAULT", "EBUSY", "EINVAL", "ENOMEM", "EMSGSIZE", "EOPNOTSUPP", "ENODEV",
               "EIO"},
    "ring_info": {"ok", "EFAULT", "EINVAL"},
    "event": {"ok", "EFAULT", "EBUSY", "EINVAL", "EBADF", "ENXIO", "ENODEV", "EIO"},
    "advance": {"ok", "EFAULT", "EBUSY", "EINVAL", "ENODEV", "EIO"},
    "counts": {"ok", "EFAULT", "EINVAL", "ENODEV", "EIO"},
    "packets": {"ok", "EFAULT", "EINVAL", "ENODEV"},
    "bar": {"ok", "EFAULT", "EINVAL", "ENODEV", "EIO"},
    "export": {"ok", "EFAULT", "EBUSY", "EINVAL", "EADDRINUSE", "ENODEV", "EIO"},
    "unknown": {"ENOTTY", "EFAULT"},
    "mmap": {"ok", "EINVAL", "EPERM", "EBUSY", "EADDRINUSE", "ENODEV", "EIO"},
    "read": {"ok", "EAGAIN", "EFAULT", "EBUSY", "EINVAL", "ENODEV", "EIO"},
    "write": {"ok", "EAGAIN", "EFAULT", "EBUSY", "EINVAL", "EMSGSIZE", "ENODEV", "EIO"},
    "sync": {"ok", "ENODEV"},
    "poll": {"ok"},
    "open": {"ok", "ENODEV", "EIO"},
}
# mmap() itself refuses an offset beyond what a file may have; a reset may end a wait of fsync().
ALSO = {("mmap", "EOVERFLOW"), ("sync", "EIO")}


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def storm(calls, seed):
    """The commands: calls by a user who has no more memory than the fuzzer's group."""
    return [
        *CONFINE,
        # A file that is closed may have written more than a card that is held takes.
        "echo 20 >/sys/module/litepcie/parameters/close_timeout_ms",
        PINNED + AWAY,
        f"fuzz /dev/litepcie1 {calls} {seed} 8 9 >/out/fuzz; [ $(pinned) -eq 0 ]",
        "stress cycle /dev/litepcie1 4",  # after the storm the card does what it is asked
    ]


def fuzz(board, calls, seed, seconds):
    """What the calls of storm() came to."""
    programs = ["fuzz", "stress"]
    result = boot(board, storm(calls, seed), programs=programs, timeout=seconds, live=FULL)
    text = result.files["fuzz"]
    print(f"{text.decode()}in {result.seconds:.0f} s")
    return parse(text.decode())


def parse(text):
    """Outcomes of each call, and how often each of its branches was reached."""
    counts = defaultdict(dict)
    for name, outcome, number in re.findall(r"fuzz (\w+) (\w+) (\d+)", text):
        counts[name][outcome] = int(number)
    branches = re.findall(r"branch (\d+) of \d+: (.*)", text)
    return counts, {what: int(hits) for hits, what in branches}


def test_calls_reach_every_branch(start_board):
    """Each call succeeds and fails in each of its ways, once in a thousand calls or oftener.

    And in no other way. Half of the calls are random, half choose what was reached least.
    """
    seed = 1 + SHIFT
    print(f"seed {seed}")
    with start_board("--pace", "400000") as board:
        counts, branches = fuzz(board, CALLS, seed, SECONDS)
        assert board.stats()["unmapped"] == 0
    check(counts, branches, CALLS)


def check(counts, branches, calls):
    """Every call ended in each of its ways and in no other, each once in a thousand calls."""
    for call, outcomes in counts.items():
        also = {outcome for name, outcome in ALSO if name == call}
        assert set(outcomes) - also == EXPECTED[call], (call, outcomes)
    reached = {tuple(what.split(":")[0].split()) for what in branches}
    assert reached == {(name, outcome) for name in EXPECTED for outcome in EXPECTED[name]}
    assert not {what: hits for what, hits in branches.items() if hits < calls // 1000}
