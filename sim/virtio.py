# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""make sim VIRTIO=1 and make bench VIRTIO=1: the card has virtio devices.

`make sim` measures two groups of rows. For those of sim/rows/virtio/guest.py it boots a guest in
which Debian's own drivers drive the card. Those of sim/rows/virtio/latency.py need no guest: the
card's clock measures them, on a card whose net device has an echo behind it. `make bench` measures
a thousand messages of each size and device in that way, and prints seed 002's table. It also
measures the rows of sim/rows/virtio/line.py, frames at line rate, on a card whose net device has a
wire.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from dataclasses import asdict, replace
from typing import Any

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.errors import SimError
from sim.report import page
from sim.report import virtio as paper
from sim.report.record import record
from sim.rows.measure import Conditions
from sim.rows.results import COLUMNS, RESULTS, Row, lossy, merge, table
from sim.rows.virtio import guest, latency, line

ECHOES = 1000  # echo messages of each size and device in `make bench VIRTIO=1`


def check(args: argparse.Namespace) -> None:
    """Raise ValueError if an option of sim.run cannot go with --virtio."""
    if args.endpoint != DEFAULT:
        raise ValueError(
            f"VIRTIO=1: the endpoint {args.endpoint} has no byte enables, which a virtio device "
            "needs; leave ENDPOINT= out"
        )
    if args.driver != "lanebox":
        raise ValueError(f"VIRTIO=1: the driver {args.driver} has no transport for virtio")
    if args.example or args.memory0 or args.memory1:
        raise ValueError("VIRTIO=1: it takes no EXAMPLE, MEMORY0 and MEMORY1")


def far_side(with_guest: bool) -> str:
    """Return the far side of the net device: the wire if a guest is at its other end."""
    return "wire" if with_guest else "echo"


def measured(plan: Any, msix: bool) -> list[Row]:
    """Return the rows of `make sim VIRTIO=1`: those of the guest, if there is one, come first.

    `msix` says whether the plan's card has MSI-X.
    """
    rows = list(guest.rows(plan)) if plan.guest else []
    alone = replace(plan.at, driver=None)
    built = artefacts.build(plan.at.endpoint, msix=msix, virtio=True)
    return rows + list(latency.rows(built.board, built.gateware / "csr.json", alone))


def finish(rows: list[Row]) -> int:
    """Record and print the benchmark rows. Return the exit status of `make sim VIRTIO=1`."""
    merge(rows)
    print("\n" + table(rows))
    print(f"\nrecorded in {RESULTS.relative_to(artefacts.ROOT)}")
    return 0


def main() -> int:
    """Run `make bench VIRTIO=1`. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m sim.virtio", description="make bench VIRTIO=1")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (1)")
    parser.add_argument(
        "--echoes", type=int, default=ECHOES, help=f"of each size, for each device ({ECHOES})"
    )
    parser.add_argument(
        "--frames", type=int, default=line.FRAMES, help=f"at line rate, each way ({line.FRAMES})"
    )
    args = parser.parse_args()
    at = Conditions(seed=args.seed)
    try:
        built = artefacts.build(at.endpoint, virtio=True)
        csr = built.gateware / "csr.json"
        rows = list(latency.rows(built.board, csr, at))
        sizes = [
            entry
            for name in latency.DRIVERS
            for entry in latency.by_size(built.board, csr, at, args.echoes, name)
        ]
        wired = artefacts.build(at.endpoint, virtio=True, port="wire")
        rows += line.rows(wired.board, wired.gateware / "csr.json", at, args.frames)
    except SimError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted, nothing was recorded", file=sys.stderr)
        return 130
    status = finish([*rows, *sizes])
    shown = page.write(record(built.board, artefacts.utility(built.headers), at))
    print("\n" + paper.text([asdict(entry) for entry in sizes]))
    print("\n" + textwrap.fill(paper.DIFFERS, COLUMNS))
    print(f"\nto be looked at in {shown.relative_to(artefacts.ROOT)}")
    for entry in lossy(rows):
        print(f"bench: {entry.id} lost {entry.value:g} frames, and none may be lost")
    return status or int(bool(lossy(rows)))


if __name__ == "__main__":
    sys.exit(main())
