# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""make sim VIRTIO=1 and make bench VIRTIO=1: the card has virtio devices.

`make sim` boots a guest in which Debian's own drivers drive the card through litepcie_virtio.ko.
What goes out on the console comes back and is compared. If the card has a net device, too, pings
go out on it. The rows of the table are measured without a guest, by the card's clock. `make bench`
measures a thousand messages of each size, and prints seed 002's table.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.errors import SimError, TestFailed
from sim.report import page
from sim.report import virtio as paper
from sim.report.record import record
from sim.rows import virtio
from sim.rows.measure import Conditions
from sim.rows.results import COLUMNS, RESULTS, Row, merge, row, table

ECHOES = 1000  # messages of each size in `make bench VIRTIO=1`
BYTES = 16384  # bytes that the guest sends on the console
PINGS = 20
GUEST_SECONDS = 180


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


# In a guest ---------------------------------------------------------------------------------------

COMMANDS = f"""
head -c {BYTES} /bin/busybox >/tmp/sent
virtio_console </tmp/sent >/tmp/back
cmp /tmp/sent /tmp/back
echo {BYTES} >/out/console
[ -d /sys/class/net/eth0 ] || exit 0
ip link set eth0 up
ip addr add 10.0.0.1/24 dev eth0
ping -c {PINGS} -i 0.05 -s 1400 -W 20 10.0.0.2 | tee /tmp/pings
grep -c '^1408 bytes' /tmp/pings >/out/pings
"""


def in_guest(plan: Any) -> Iterator[Row]:
    """Boot a guest with Debian's drivers, use the virtio devices, and yield what came back.

    `plan` is a Plan of sim.run, which imports this module.
    """
    with plan.board() as board:
        result = plan.run_guest(board, COMMANDS, [], timeout=GUEST_SECONDS, live=True)
        violations = sum(board.stats()["violations"].values())
    if result.rc:
        raise TestFailed(f"the guest's commands ended with status {result.rc}")
    print(f"\nguest: Linux {plan.guest.kernel.release}, {result.seconds:.0f} s")
    for name, unit, driver in (("console", "bytes", "console"), ("pings", "answers", "net")):
        if name in result.files:
            yield row(
                f"virtio/{name}",
                int(result.files[name]),
                unit,
                violations=violations,
                reason=f"through Debian's virtio_{driver} in the guest, and back",
            )


def measured(plan: Any) -> list[Row]:
    """Return the rows of `make sim VIRTIO=1`: those of the guest, if there is one, come first."""
    rows = list(in_guest(plan)) if plan.guest else []
    alone = replace(plan.at, driver=None)
    return rows + list(virtio.rows(plan.built.board, plan.built.gateware / "csr.json", alone))


def finish(rows: list[Row]) -> int:
    """Record the rows and print their table. Return the exit status of `make sim VIRTIO=1`."""
    merge(rows)
    print("\n" + table(rows))
    print(f"\nrecorded in {RESULTS.relative_to(artefacts.ROOT)}")
    return 0


def main() -> int:
    """Run `make bench VIRTIO=1`. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m sim.virtio", description="make bench VIRTIO=1")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (1)")
    parser.add_argument("--echoes", type=int, default=ECHOES, help=f"of each size ({ECHOES})")
    args = parser.parse_args()
    at = Conditions(seed=args.seed)
    try:
        built = artefacts.build(at.endpoint, virtio=True)
        csr = built.gateware / "csr.json"
        rows = list(virtio.rows(built.board, csr, at))
        sizes = list(virtio.by_size(built.board, csr, at, args.echoes))
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
    return status


if __name__ == "__main__":
    sys.exit(main())
