# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Locks files between processes.

If two processes build the same thing, the second one waits and finds it built.
"""

import fcntl
import sys
import time
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 2.0  # After this many seconds a process that waits for a lock prints that it waits.
PERIOD = 0.05
WAITING = "  waiting for another command that builds or simulates"


@contextmanager
def locked(file):
    """Wait until no other process holds the lock file `file`, then hold it while the block runs.

    The kernel frees the lock if a process dies. A wait of more than PATIENCE seconds is reported on
    stderr, once.
    """
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    with open(file, "w") as handle:
        if not _free_soon(handle):
            print(WAITING, file=sys.stderr, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _free_soon(handle):
    """Take the file lock if it becomes free within PATIENCE seconds.

    Return whether it was taken.
    """
    end = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(PERIOD)
