# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""make sim VIRTIO=1 and make bench VIRTIO=1: the card has virtio devices.

`make sim` boots a guest in which Debian's own drivers drive the card through litepcie_virtio.ko.
What goes out on the console comes back and is compared. Behind the net device is the wire, with a
second network card of the guest at its other end: ping and iperf3 run through card and wire. The
rows of latency are measured without a guest, by the card's clock, on a card whose net device has an
echo behind it. `make bench` measures a thousand messages of each size, and prints seed 002's table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.errors import SimError, TestFailed
from sim.guest import wire
from sim.report import page
from sim.report import virtio as paper
from sim.report.record import record
from sim.rows.measure import Conditions
from sim.rows.results import COLUMNS, RESULTS, Row, merge, row, table
from sim.rows.virtio import latency

ECHOES = 1000  # messages of each size in `make bench VIRTIO=1`
BYTES = 16384  # bytes that the guest sends on the console, and gets back
PINGS = 20
# Bytes that iperf3 sends in each transfer. They are few, since a board carries less than 1 MB a
# second of the computer's time.
IPERF3_BYTES = 256 * 1024
GUEST_SECONDS = 400


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


# Rows measured in a guest ---------------------------------------------------------------------

CONSOLE = f"""
head -c {BYTES} /bin/busybox >/tmp/sent
virtio_console </tmp/sent >/tmp/back
cmp /tmp/sent /tmp/back
echo {BYTES} >/out/console
"""
# The commands for a net device that answers pings by itself.
ECHO = """
[ -d /sys/class/net/eth0 ] || exit 0
ip link set eth0 up
ip addr add 10.0.0.1/24 dev eth0
ping -c PINGS -i 0.05 -s 1400 -W 20 10.0.0.2 | tee /tmp/pings
grep -c '^1408 bytes' /tmp/pings >/out/pings
""".replace("PINGS", str(PINGS))
COMMANDS = CONSOLE + ECHO
# The transfers of iperf3: the direction as the card sees it, and options. UDP is sent at 1 Mbit/s
# of the guest's clock, with which the net device's engine keeps up. TCP's receiver stops when the
# sender has given its bytes to the kernel, so a window at the most is missing in what it counts.
TRANSFERS = {
    "tcp/h2c": "-l 4K -w 16K",
    "tcp/c2h": "-l 4K -w 16K -R",
    "udp/h2c": "-u -b 1M -l 1400",
    "udp/c2h": "-u -b 1M -l 1400 -R",
}
WIRED = f"""
wire_up
ping -c {PINGS} -i 0.05 -s 1400 -W 20 {wire.FAR} | tee /tmp/pings
grep -c '^1408 bytes' /tmp/pings >/out/pings
far iperf3 -4 -s -D >/dev/null
far sh -c 'until grep -q :1451 /proc/net/tcp; do sleep 0.1; done'
""" + "".join(
    f"iperf3 -4 -c {wire.FAR} -n {IPERF3_BYTES} {options} --json >/out/{name.replace('/', '-')}\n"
    f"echo iperf3 {name} done\n"
    for name, options in TRANSFERS.items()
)


@contextlib.contextmanager
def wired(plan: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Run the plan's board with its wire. Yield it, and what run_guest() needs for the second card.

    `plan` is a Plan of sim.run, which imports this module.
    """
    with tempfile.TemporaryDirectory(prefix="lanebox-") as folder:
        path = Path(folder) / "wire"
        with plan.board("--wire", f"listen:{path}") as board:
            files = wire.files(plan.guest.kernel)
            yield board, {"files": files, "devices": wire.devices(path)}


def transfer(name: str, text: bytes, violations: int) -> Row:
    """Return the row of a transfer of iperf3, from the JSON that it wrote."""
    end = json.loads(text)["end"]
    if name.startswith("tcp"):
        got = end["sum_received"]["bytes"]
        lost = f"{end['sum_sent']['retransmits']} retransmits"
    else:
        total = end["sum"]
        if not total["packets"]:
            raise TestFailed(f"iperf3 {name}: no datagram was counted")
        got = total["bytes"] * (total["packets"] - total["lost_packets"]) // total["packets"]
        lost = f"{total['lost_packets']} of {total['packets']} datagrams lost"
    if not got:
        raise TestFailed(f"iperf3 {name}: nothing came")
    reason = f"through card and wire to a second network card of the guest; {lost}"
    return row(f"virtio/iperf3/{name}", got, "bytes", violations=violations, reason=reason)


def in_guest(plan: Any) -> Iterator[Row]:
    """Boot a guest with Debian's drivers, use the virtio devices, and yield what came back.

    The card of `plan` has the wire behind its net device.
    """
    with wired(plan) as (board, more):
        commands = CONSOLE + WIRED
        result = plan.run_guest(board, commands, timeout=GUEST_SECONDS, live=True, **more)
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
    for name in TRANSFERS:
        yield transfer(name, result.files[name.replace("/", "-")], violations)


def far_side(with_guest: bool) -> str:
    """Return the far side of the net device: the wire if a guest is at its other end."""
    return "wire" if with_guest else "echo"


def measured(plan: Any, msix: bool) -> list[Row]:
    """Return the rows of `make sim VIRTIO=1`: those of the guest, if there is one, come first.

    `msix` says whether the plan's card has MSI-X.
    """
    rows = list(in_guest(plan)) if plan.guest else []
    alone = replace(plan.at, driver=None)
    built = artefacts.build(plan.at.endpoint, msix=msix, virtio=True)
    return rows + list(latency.rows(built.board, built.gateware / "csr.json", alone))


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
        rows = list(latency.rows(built.board, csr, at))
        sizes = list(latency.by_size(built.board, csr, at, args.echoes))
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
