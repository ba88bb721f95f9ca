# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""lanebox-live: the card's four TLP streams, once a second, in a terminal.

The option --interval sets another time than a second. The program only reads the card's counters.
Behind the kernel driver another program can use the card meanwhile. Rates are by device time. A
simulated card's time stands still while the card is idle, and then all rates are 0.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time

from lanebox_host.card import Card
from lanebox_host.counters import NAMES, Counters

MEANING = {"cq": "host asks", "cc": "card answers", "rq": "card asks", "rc": "host answers"}
MOST = 8.0  # rate in GB/s from which on a stream's bar of `#` has its full length on the screen
HEAD = f"{'':17}{'GB/s':>7}{'TLPs/us':>9}{'busy':>7}{'held':>7}  "


def line(name: str, passed: Counters, width: int) -> str:
    """Return a line of text for one TLP stream.

    The line has the payload rate in GB/s, TLPs per microsecond, the percentage of clock cycles with
    a beat, the percentage with a stall, and a bar whose length shows the rate.
    """
    stream, ticks = getattr(passed, name), passed.time or 1
    rate, tlps_per_us = passed.rate(name), stream.tlps / (ticks * passed.tick_ps * 1e-6)
    bar = "#" * round(min(rate / MOST, 1) * max(width - len(HEAD), 0))
    return (
        f"{name} {MEANING[name]:14}{rate:7.2f}{tlps_per_us:9.1f}"
        f"{stream.beats / ticks:7.0%}{stream.stalls / ticks:7.0%}  {bar}"
    )


def view(name: str, now: Counters, passed: Counters, width: int) -> list[str]:
    """Return the lines of one display: title, column heads, and a line for each TLP stream."""
    title = f"{name}   device time {now.seconds:.6f} s, {passed.seconds * 1e6:.0f} us passed"
    return [title[:width], HEAD, *(line(stream, passed, width) for stream in NAMES)]


def watch(card: Card, interval: float, count: int) -> None:
    """Print the rates of the card's TLP streams `count` times, `interval` seconds apart.

    A `count` of 0 means until Ctrl-C.
    """
    terminal = sys.stdout.isatty()
    before, shown = card.counters, 0
    while not count or shown < count:
        time.sleep(interval)
        now = card.counters
        lines = view(card.name, now, now - before, shutil.get_terminal_size().columns)
        if terminal and shown:
            sys.stdout.write(f"\x1b[{len(lines)}A")
        wipe = "\x1b[K" if terminal else ""
        sys.stdout.write("".join(f"{text}{wipe}\n" for text in lines))
        sys.stdout.flush()
        before, shown = now, shown + 1


def number(text: str) -> int:
    """Parse the option --count: how often the rates are printed, a decimal number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: it must be a number, 0 or more")
    return int(text)


def seconds(text: str) -> float:
    """Parse the option --interval: seconds between two displays, above 0 and up to a day."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 86400:
        raise argparse.ArgumentTypeError(f"{text}: it must be seconds above 0, up to a day")
    return value


def main() -> int:
    """Run lanebox-live, and return its exit status."""
    parser = argparse.ArgumentParser(prog="lanebox-live", description=__doc__.splitlines()[0])
    parser.add_argument("-d", "--device", default="/dev/litepcie0", help="as for litepcie_util")
    parser.add_argument("-n", "--count", type=number, default=0, help="pictures (0: until Ctrl-C)")
    parser.add_argument("-i", "--interval", type=seconds, default=1.0, help="seconds (1)")
    args = parser.parse_args()
    try:
        with Card(args.device) as card:
            watch(card, args.interval, args.count)
    except OSError as error:  # the card has failed, or the output cannot be written
        # If the output is a closed pipe, as when `head` has read enough lines, no message is
        # printed. The exit status is 1 all the same.
        if not isinstance(error, BrokenPipeError):
            print(f"lanebox-live: {error}", file=sys.stderr)
        # The interpreter flushes stdout at exit. If stdout cannot be written, that flush would
        # fail again, so stdout becomes /dev/null.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
