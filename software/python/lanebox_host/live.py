# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""lanebox-live: the card's four TLP streams, once a second, in a terminal.

Rates are by device time; a card that has nothing to do and lets its time stand still shows 0.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time

from lanebox_host.card import Card
from lanebox_host.counters import NAMES, Counters
from lanebox_host.errors import LaneboxError

MEANING = {"cq": "host asks", "cc": "card answers", "rq": "card asks", "rc": "host answers"}
MOST = 8.0  # GB/s, the end of a bar
HEAD = f"{'':17}{'GB/s':>7}{'TLPs/us':>9}{'busy':>7}{'held':>7}  "


def line(name: str, passed: Counters, width: int) -> str:
    """One stream: payload rate, TLPs, share of cycles with a beat and held back, a bar."""
    stream, ticks = getattr(passed, name), passed.time or 1
    rate = passed.rate(name)
    bar = "#" * round(min(rate / MOST, 1) * max(width - len(HEAD), 0))
    return (
        f"{name} {MEANING[name]:14}{rate:7.2f}{stream.tlps / ticks * 250:9.1f}"
        f"{stream.beats / ticks:7.0%}{stream.stalls / ticks:7.0%}  {bar}"
    )


def view(name: str, now: Counters, passed: Counters, width: int) -> list[str]:
    """The whole picture."""
    title = f"{name}   device time {now.seconds:.6f} s, {passed.seconds * 1e6:.0f} us passed"
    return [title[:width], HEAD, *(line(stream, passed, width) for stream in NAMES)]


def watch(card: Card, interval: float, count: int) -> None:
    """Print until `count` pictures were shown, 0: until Ctrl-C."""
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="lanebox-live", description=__doc__.splitlines()[0])
    parser.add_argument("-d", "--device", default="/dev/litepcie0", help="as for litepcie_util")
    parser.add_argument("-n", "--count", type=int, default=0, help="pictures (0: until Ctrl-C)")
    parser.add_argument("-i", "--interval", type=float, default=1.0, help="seconds (1)")
    args = parser.parse_args()
    try:
        with Card(args.device) as card:
            watch(card, args.interval, args.count)
    except LaneboxError as error:
        print(f"lanebox-live: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
