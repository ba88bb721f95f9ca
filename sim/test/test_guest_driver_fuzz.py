# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Random calls by a user without privileges reach every branch, and harm nobody."""

import re
from collections import defaultdict

import pytest
from driver_guest import boot
from seeds import SHIFT

from sim.guest import run

pytestmark = [pytest.mark.guest, pytest.mark.soak]  # minutes, all together

# Every call, and each way in which it may end.
EXPECTED = {
    "reg": {"ok", "EPERM", "EFAULT", "EINVAL"},
    "loopback": {"ok", "EFAULT"},
    "c2h": {"ok", "EFAULT", "EBUSY"},
    "h2c": {"ok", "EFAULT", "EBUSY"},
    "info": {"ok", "EFAULT"},
    "lock": {"ok", "EFAULT"},
    "c2h_update": {"ok", "EFAULT", "EBUSY", "EINVAL"},
    "h2c_update": {"ok", "EFAULT", "EBUSY", "EINVAL"},
    "unknown": {"ENOTTY", "EFAULT"},
    "mmap": {"ok", "EINVAL"},
    "read": {"ok", "EAGAIN", "EFAULT", "EBUSY", "EINVAL"},
    "write": {"ok", "EAGAIN", "EFAULT", "EBUSY", "EINVAL"},
    "poll": {"ok"},
    "open": {"ok"},
}
# mmap() itself refuses an offset beyond what a file may have.
ALSO = {("mmap", "EOVERFLOW")}


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def fuzz(board, calls, seed):
    commands = f"chmod 666 /dev/litepcie0; stress fuzz /dev/litepcie0 {calls} {seed} >/out/fuzz"
    # After the storm the card still does what it is asked.
    result = boot(board, [commands, "stress cycle /dev/litepcie0 4"], timeout=600)
    counts = defaultdict(dict)
    lines = result.files["fuzz"].decode()
    for name, outcome, number in re.findall(r"fuzz (\w+) (\w+) (\d+)", lines):
        counts[name][outcome] = int(number)
    return counts


def test_random_calls_reach_every_branch(start_board):
    """20,000 calls: each call succeeds and fails in each of its ways, and in no other."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    with start_board("--pace", "400000") as board:
        counts = fuzz(board, 20_000, seed)
        assert board.stats()["unmapped"] == 0
    for name, outcomes in EXPECTED.items():
        assert outcomes <= set(counts[name]), (name, counts[name])
        extra = set(counts[name]) - outcomes
        assert all((name, outcome) in ALSO for outcome in extra), (name, counts[name])
