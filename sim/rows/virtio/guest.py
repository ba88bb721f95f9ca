# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `virtio/console`, `virtio/pings` and `virtio/iperf3/*`: Debian's drivers use the devices.

litepcie_virtio.ko makes the card's virtio devices known in a guest. What the guest sends on the
console comes back and is compared. Behind the net device is the wire, with a second network card of
the guest at its other end: ping and iperf3 run through card and wire. A row has the bytes or
answers that came back, and no time, since a guest's time says nothing about a real machine's.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sim.errors import TestFailed
from sim.guest import wire
from sim.rows.results import Row, row

BYTES = 16384  # bytes that the guest sends on the console, and gets back
PINGS = 20
# Bytes that iperf3 sends in each transfer. They are few, since a board carries less than 1 MB a
# second of the computer's time.
IPERF3_BYTES = 256 * 1024
GUEST_SECONDS = 400

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


def rows(plan: Any) -> Iterator[Row]:
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
