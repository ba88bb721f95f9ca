# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `virtio/reads/*`, `virtio/own/*`, `virtio/doorbell/*`, `virtio/frames`, `virtio/echo/*` and
`virtio/net/*`: how long a virtio device of the card takes to send a message back.

A message goes out by the transmit queue and comes back by the receive queue, one at a time. The
time is device time at the card's pins: from the beat of the notification on CQ (the doorbell) to
the MSI for the answer. Reading and copying in the guest, its drivers and its programs are not in
it. The driver's part takes no device time, and happens while the card rests, so a row does not
depend on how busy the machine is. The number of dependent reads of host memory is the slope of this
time over the time of a read.
The device is the console, whose far side is an echo in the card. In the rows `virtio/net/*` it is
the net device, and the messages are the payloads of datagrams, which the echo behind it sends back.
A device guesses which descriptor comes next, and the rows say whether the driver's descriptors can
be guessed.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gateware import numbers
from sim.bins import binned
from sim.clients.resting import RestingClient
from sim.clients.virtio import (
    MEMORY,
    MEMORY_STEP,
    QUEUE_NOTIFY,
    RECEIVE,
    RINGS,
    TRANSMIT,
    EchoDriver,
)
from sim.clients.virtio_net import NetEchoDriver
from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.measure import Conditions
from sim.rows.peer import BAR0_ADDRESS, Bar
from sim.rows.results import Row, row
from sim.trace import tlp
from sim.trace.tlp import Tlp

# Sizes in bytes: of the messages of seed 002's tables, and of the message in all other rows.
SIZES, SMALL = (64, 128, 256, 512, 1024), 64
# The host's read latencies in ns at which messages are measured. The slope over them is the number
# of reads that wait for each other.
LATENCIES = (0, 500, 1000, 2000)
SHORT = 12  # messages of a measurement in which all take about the same time
# The first messages of a device are not counted: it still reads about its receive buffers then.
WARM_UP = 4
QUEUE_SIZE, BUFFER_BYTES = 64, 2048
PERCENTILES = (50, 95, 99, 99.9)
# The host's reads in the distribution by size: most take 600 ns give or take a third, and one in a
# hundred waits for the translation of its address.
REAL_HOST = {"read_latency_ns": 600, "jitter_ns": 200, "late_percent": 1.0, "late_ns": 5000}
# Goals of shared design: round trips by feature, cycles of the card alone at 64 bytes, and ns from
# doorbell to interrupt when a read takes 600 ns.
ROUND_TRIPS = {"split": 4, "notify": 3, "predicted": 2}
PACKED_ROUND_TRIPS = 2  # with packed rings and NOTIFICATION_DATA
OWN_CYCLES = {"": 145, "/predicted": 115}
DOORBELL_NS = 1750
FRAMES, FRAME_CYCLES = 32, 6  # messages of a batch, and the goal in cycles for each of them
# The virtio devices: the driver of each, and the name of its rows by size.
DRIVERS = {"console": EchoDriver, "net": NetEchoDriver}
BY_SIZE = {"console": "virtio/echo", "net": "virtio/net"}
# The bits of `pcie_msi_enable` from the first virtio device's on. The device that is not measured
# has no driver, so it causes no interrupt.
CAUSES = 0xFFFF_FFFF >> numbers.VIRTIO_CAUSE << numbers.VIRTIO_CAUSE


@dataclass(frozen=True)
class Echo:
    """A message that came back: ns from doorbell to interrupt, and the card's reads meanwhile."""

    ns: int
    reads: int


def found(tlps: Iterable[Tlp], page: int) -> Iterator[Echo]:
    """Yield each Echo in a trace of the virtio device whose registers are at `page` in BAR0. An
    echo is a message that the device sent back."""
    doorbell, start, reads = BAR0_ADDRESS + page + QUEUE_NOTIFY, None, 0
    for each in tlps:
        rings = each.interface == "CQ" and each.kind == "MWr" and each.address == doorbell
        if rings and each.payload[0] == TRANSMIT:
            start, reads = each.ns, 0
        elif each.interface == "RQ" and each.kind == "MRd":
            reads += 1
        elif each.interface == "MSI" and start is not None:
            yield Echo(each.ns - start, reads)
            start = None


def pace(tlps: Iterable[Tlp], queue: int) -> float:
    """Return the average time in ns from one used element of a queue to the next one, in the trace
    of one batch of FRAMES messages. Raises TestFailed if an element is missing."""
    used = MEMORY + queue * MEMORY_STEP + (RINGS >> 1)
    elements = range(used + 4, used + 4 + 8 * QUEUE_SIZE)
    times = [each.ns for each in tlps if each.kind == "MWr" and each.address in elements]
    if len(times) != FRAMES:
        raise TestFailed(f"queue {queue} used {len(times)} elements for {FRAMES} messages")
    return (times[-1] - times[0]) / (FRAMES - 1)


class RestingBar(Bar):
    """A board that gets a message of its client only when its card has no work."""

    def connect(self) -> RestingClient:
        """Return a new client of the board."""
        return RestingClient(self.board)


@dataclass(frozen=True)
class Device:
    """The virtio device of a board that is measured: board, register map, and its driver.

    `name` is one of DRIVERS. The driver has NOTIFICATION_DATA with `notify`, its descriptors follow
    one another with `guessable`, and its rings are packed with `packed`.
    """

    board: Path
    csr: Path
    notify: bool = True
    guessable: bool = True
    packed: bool = False
    name: str = "console"

    @property
    def page(self) -> int:
        """Return the offset in BAR0 of the device's page of registers."""
        return json.loads(self.csr.read_text())["constants"][f"virtio_{self.name}_base"]

    def echoes(self, at: Conditions, size: int, count: int) -> tuple[list[Echo], int]:
        """Send `count` messages of `size` bytes on a new board, one after the other.

        Returns what each took, and how often the card broke rules. The answers are compared.
        """
        source = random.Random(at.seed)
        batches = [[source.randbytes(size)] for _ in range(WARM_UP + count)]
        trace, violations = self.trace(at, batches)
        echoes = list(found(trace, self.page))
        if len(echoes) != WARM_UP + count:
            raise TestFailed(f"{WARM_UP + count} messages had {len(echoes)} interrupts")
        return echoes[WARM_UP:], violations

    def trace(self, at: Conditions, batches: list[list[bytes]]) -> tuple[list[Tlp], int]:
        """Send batches of messages on a new board, one batch after the other.

        Returns all TLPs, and how often the card broke rules. The answers are compared.
        """
        with tempfile.TemporaryDirectory(prefix="lanebox-") as folder:
            trace = Path(folder) / "trace.pcapng"
            with RestingBar(self.board, self.csr, at, ["--tlp-log", str(trace)]) as bar:
                bar.register("pcie_msi_enable", CAUSES)
                driver = DRIVERS[self.name](
                    bar.client,
                    self.page,
                    self.notify,
                    QUEUE_SIZE,
                    BUFFER_BYTES,
                    self.guessable,
                    self.packed,
                )
                for batch in batches:
                    driver.echo(*batch)
                violations = sum(bar.board.stats()["violations"].values())
                driver.close()
            return list(tlp.load(trace)), violations


def rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield the rows of round trips, of the card's own cycles, of one message at 600 ns, and of the
    cycles for a message in a batch."""
    for name, goal in ROUND_TRIPS.items():
        device = Device(board, csr, name != "split", name == "predicted")
        yield _round_trips(device, name, goal, at)
    for name, goal in OWN_CYCLES.items():
        yield _own(Device(board, csr, guessable=name != ""), name, goal, at)
    yield _doorbell(Device(board, csr), at)
    yield _frames(Device(board, csr), at)


def packed_rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield the row of round trips of a board whose virtio devices may have packed rings.

    The descriptors need not be guessed, so the driver's cannot be."""
    device = Device(board, csr, guessable=False, packed=True)
    yield _round_trips(device, "packed", PACKED_ROUND_TRIPS, at)


def _median(device: Device, at: Conditions, latency: int) -> tuple[float, float, int]:
    """Return (median time of an echo in ns, median number of the card's reads in it, number of
    broken rules) at this read latency in ns."""
    echoes, violations = device.echoes(replace(at, read_latency_ns=latency), SMALL, SHORT)
    times, reads = ([getattr(echo, name) for echo in echoes] for name in ("ns", "reads"))
    return statistics.median(times), statistics.median(reads), violations


def _round_trips(device: Device, name: str, goal: int, at: Conditions) -> Row:
    times, reads, broken = {}, 0.0, 0
    for latency in LATENCIES:
        times[latency], reads, violations = _median(device, at, latency)
        broken += violations
    slope = statistics.linear_regression(list(times), list(times.values())).slope
    return row(
        f"virtio/reads/{name}",
        slope,
        "round trips",
        limits.Limit(goal, "budget"),
        lower_is_better=True,
        violations=broken,
        conditions={**_conditions(at), "median_ns_by_read_latency": times, "reads": reads},
    )


def _own(device: Device, name: str, goal: int, at: Conditions) -> Row:
    ns, reads, violations = _median(device, at, 0)
    return row(
        f"virtio/own/{SMALL}{name}",
        ns / limits.CYCLE_NS,
        "cycles",
        limits.Limit(goal, "budget"),
        lower_is_better=True,
        violations=violations,
        conditions={**_conditions(replace(at, read_latency_ns=0)), "reads": reads},
    )


def _doorbell(device: Device, at: Conditions) -> Row:
    ns, reads, violations = _median(device, at, at.read_latency_ns)
    return row(
        f"virtio/doorbell/{SMALL}",
        ns,
        "ns",
        limits.Limit(DOORBELL_NS, "budget"),
        lower_is_better=True,
        violations=violations,
        conditions={**_conditions(at), "reads": reads},
    )


def _frames(device: Device, at: Conditions) -> Row:
    source = random.Random(at.seed)
    trace, violations = device.trace(at, [[source.randbytes(SMALL) for _ in range(FRAMES)]])
    cycles = {
        name: pace(trace, queue) / limits.CYCLE_NS
        for name, queue in (("transmit", TRANSMIT), ("receive", RECEIVE))
    }
    return row(
        "virtio/frames",
        max(cycles.values()),
        "cycles",
        limits.Limit(FRAME_CYCLES, "budget"),
        lower_is_better=True,
        violations=violations,
        conditions={**_conditions(at), "cycles": cycles},
    )


def _conditions(at: Conditions, device: str = "console") -> dict:
    return {**asdict(at), "device": device}


# Distribution of echo times by message size -------------------------------------------------------


def percentile(times: list[int], share: float) -> int:
    """Return the smallest of the times in ns that `share` percent of them do not exceed."""
    ordered = sorted(times)
    return ordered[max(0, -(-len(ordered) * int(share * 10) // 1000) - 1)]


def by_size(
    board: Path, csr: Path, at: Conditions, count: int, name: str = "console"
) -> Iterator[Row]:
    """Yield a row for each of SIZES: `count` echoes of the device `name`, under reads that take as
    long as REAL_HOST's.

    The row's value is the median. Its conditions have the percentiles of seed 002's table.
    """
    at = replace(at, **REAL_HOST)
    for size in SIZES:
        echoes, violations = Device(board, csr, name=name).echoes(at, size, count)
        times = [echo.ns for echo in echoes]
        told = {f"p{share:g}": percentile(times, share) for share in PERCENTILES}
        yield row(
            f"{BY_SIZE[name]}/{size}",
            told["p50"],
            "ns",
            p99=told["p99"],
            violations=violations,
            bytes=size * count,
            histogram=[
                {"from_ns": low, "to_ns": high, "count": n} for low, high, n in binned(times)
            ],
            conditions={**_conditions(at, name), "echoes": count, "ns": told},
        )
