# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""One process at a time: what two would build into the same place, the second finds ready."""

import fcntl
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(file):
    """Wait for whoever holds `file`, then hold it. The kernel lets go when a process dies."""
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    with open(file, "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
