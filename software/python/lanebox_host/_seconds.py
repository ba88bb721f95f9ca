# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Convert times in seconds, as callers give them, to the whole ms, us or ns that
the library takes.
"""

from __future__ import annotations

import math

# TIMEOUT: default timeout in seconds of the waits of a DMA run and of the wait for an interrupt.
# FOR_EVER: default timeout of a capture's waits for frames. The package's docstring says what
# timeouts mean.
TIMEOUT = 10.0
FOR_EVER = -1.0
LONGEST = (1 << 31) - 1  # longest timeout of a library call in milliseconds: the largest int of C


def milliseconds(seconds: float) -> int:
    """Convert a timeout in seconds to the milliseconds that calls of the library take.

    The result is rounded up, and at most LONGEST. A negative timeout or infinity becomes -1, with
    which the library waits for ever. Raises ValueError if the timeout is NaN.
    """
    if math.isnan(seconds):
        raise ValueError("timeout: nan is no time in seconds")
    if seconds < 0 or math.isinf(seconds):
        return -1
    return min(math.ceil(seconds * 1000), LONGEST)


def whole(name: str, seconds: float, units: int) -> int:
    """Return an option in seconds as a whole number of units, of which a second has `units`.

    The result is rounded up, and is at least 1 unless `seconds` is 0, since an option of 0 has a
    meaning of its own in the library. Raises ValueError with the option's `name` if the time is
    negative or not finite.
    """
    if not 0 <= seconds < math.inf:
        raise ValueError(f"{name}: {seconds} is no time in seconds from 0 on")
    # A product like 0.00051 * 10**6 is a little too large: round() takes that away.
    return max(1, math.ceil(round(seconds * units, 3))) if seconds else 0
