# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Find names of pins in the recording of a logic analyser: see bringup/jtag/pin_name.py.

The sender's clock may be off by 15 % or more. So the length of a bit is measured from the ten
alternating bits of `U`. This module needs only Python's standard library.
"""

import csv
from bisect import bisect_right

FRAME  = 10 # Bits that a UART sends for a byte: a start bit, eight data bits and a stop bit.
# Bytes that follow the `U` in a word, the UART message that a pin sends: the pin's name in four
# bytes and a line feed.
BYTES  = 5
# The edges of a `U` are a bit time apart. An edge that is off by more than this part of a bit time
# shows that the byte is no `U`.
UNEVEN = 0.25

def read_recording(filename):
    """Return the changes in a recording as a list of (seconds, new level).

    The recording is a CSV file with seconds and level in the first two columns. Lines without two
    numbers, such as a header, are skipped.
    """
    changes = []
    with open(filename, newline="") as file:
        for row in csv.reader(file):
            try:
                time, level = float(row[0]), int(float(row[1]))
            except (ValueError, IndexError):
                continue
            if not changes or changes[-1][1] != level:
                changes.append((time, level))
    return changes

def _bit_after(times, at):
    """Return the length of a bit in seconds if the ten changes from index `at` on are a `U`, else
    None.
    """
    edges = times[at:at + FRAME]
    if len(edges) < FRAME:
        return None
    bit = (edges[-1] - edges[0])/(FRAME - 1)
    even = all(abs(later - earlier - bit) < UNEVEN*bit for earlier, later in zip(edges, edges[1:]))
    return bit if even else None

def _falling_near(changes, times, time, reach):
    """Return the time of a falling edge at most `reach` seconds from `time`; None if none
    is there.
    """
    near = range(bisect_right(times, time - reach), bisect_right(times, time + reach))
    return next((times[at] for at in near if changes[at][1] == 0), None)

def _byte(level, start, bit):
    """Return the byte whose start bit begins at second `start`; None if start or stop bit
    is wrong.
    """
    bits = [level(start + (n + 0.5)*bit) for n in range(FRAME)]
    if bits[0] != 0 or bits[-1] != 1:
        return None
    return sum(value << n for n, value in enumerate(bits[1:-1]))

def decode(changes):
    """Return the names of the pins that have sent their names in a recording, in the order in which
    they were sent. `changes` is the recording as a list of (seconds, new level).
    """
    times = [time for time, _ in changes]
    names = []

    def level(time):
        at = bisect_right(times, time) - 1
        return changes[at][1] if at >= 0 else 1

    for at, (time, value) in enumerate(changes):
        bit = _bit_after(times, at) if value == 0 else None
        word, start = [], time
        # Each byte is timed from its own start bit, as in any UART, so timing errors do not add up.
        while bit and start is not None and None not in word and len(word) < BYTES:
            start = _falling_near(changes, times, start + FRAME*bit, bit/2)
            word.append(None if start is None else _byte(level, start, bit))
        if len(word) == BYTES and None not in word and word[-1] == ord("\n") \
                and all(32 <= c < 127 for c in word[:-1]):
            names.append(bytes(word[:-1]).decode().strip())
    return names
