# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/locks.py: a process that waits long for a lock says so once."""

import subprocess
import sys
import threading

import pytest

from sim.differential import environment
from tools import locks

LINE = locks.WAITING + "\n"
HOLDER = """
import sys
from tools.locks import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def held(tmp_path):
    """Yield another process, which holds the lock file `lock` until its stdin is closed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "lock"],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        yield holder
        holder.stdin.close()


def wait(held, tmp_path, monkeypatch, seconds):
    """Wait for the lock that the process `held` holds. That process frees it after `seconds`
    seconds.
    """
    monkeypatch.setattr(environment, "CACHE", tmp_path)
    timer = threading.Timer(seconds, held.stdin.close)
    timer.start()
    with environment.alone():
        assert held.stdin.closed
    timer.join()


def test_a_long_wait_is_told_once(held, tmp_path, monkeypatch, capsys):
    """After PATIENCE seconds of waiting for a lock, one line on stderr says for which lock the
    process waits.

    Later the lock is taken.
    """
    monkeypatch.setattr(locks, "PATIENCE", 0.2)
    wait(held, tmp_path, monkeypatch, 1)
    assert capsys.readouterr() == ("", LINE)


def test_a_short_wait_is_not_spoken_of(held, tmp_path, monkeypatch, capsys):
    """A process that gets a lock at once, or soon, prints no message."""
    monkeypatch.setattr(locks, "PATIENCE", 60)
    wait(held, tmp_path, monkeypatch, 0.3)
    with locks.locked(tmp_path / "lock"):
        pass
    assert capsys.readouterr() == ("", "")
