# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""gateware/locks.py: a process that waits for a lock says so, once, and only if it takes long."""

import subprocess
import sys
import threading

import pytest

from lanebox import locks
from sim.differential import environment

LINE = "  waiting for another command that builds or simulates\n"
HOLDER = """
import sys
from lanebox.locks import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def held(tmp_path):
    """A process that holds the lock `lock`."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path/"lock"], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == "held\n"
        yield holder
        holder.stdin.close()


def wait(held, tmp_path, monkeypatch, seconds):
    """Wait with alone() for the held lock, which is freed after some seconds."""
    monkeypatch.setattr(environment, "CACHE", tmp_path)
    timer = threading.Timer(seconds, held.stdin.close)
    timer.start()
    with environment.alone():
        assert held.stdin.closed
    timer.join()


def test_a_long_wait_is_told_once(held, tmp_path, monkeypatch, capsys):
    """After PATIENCE one line on stderr says what is waited for, and the lock is had in the end."""
    monkeypatch.setattr(locks, "PATIENCE", 0.2)
    wait(held, tmp_path, monkeypatch, 1)
    assert capsys.readouterr() == ("", LINE)


def test_a_short_wait_is_not_spoken_of(held, tmp_path, monkeypatch, capsys):
    """A lock that is freed soon, or was free, is had without a line."""
    monkeypatch.setattr(locks, "PATIENCE", 60)
    wait(held, tmp_path, monkeypatch, 0.3)
    with locks.locked(tmp_path/"lock"):
        pass
    assert capsys.readouterr() == ("", "")
