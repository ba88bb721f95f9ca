# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""make bench: the whole set of benchmarks, without a guest.

Each row is printed when it is measured, and the table at the end. All rows are merged into
build/results.json.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sim import artefacts
from sim.card import Card
from sim.endpoints import DEFAULT, ENDPOINTS
from sim.errors import SimError
from sim.examples import AXI50, COMMANDS
from sim.report import page
from sim.report.record import Recording, record
from sim.rows import (
    area,
    commands,
    cpu,
    flash,
    held,
    idle_reads,
    measure,
    model,
    peer,
    streams,
)
from sim.rows.capture import both as capture_both
from sim.rows.capture import cost as capture_cost
from sim.rows.capture import host as capture_host
from sim.rows.capture import line as capture_line
from sim.rows.capture import queues as capture_queues
from sim.rows.capture import rate as capture_rate
from sim.rows.measure import Conditions
from sim.rows.results import RESULTS, Row, beyond, broken, lossy, merge, row, table
from sim.rows.streams import Job
from sim.rows.virtio import latency as virtio_latency
from sim.rows.virtio import line as virtio_line

C2H, H2C, BOTH = Job(("c2h",)), Job(("h2c",)), Job(("c2h", "h2c"))
# Sizes in bytes of the small descriptors whose DMA rates are measured.
SMALL = (64, 128, 256, 512, 1504)
BOTH_WAYS = ("dma_test", "--direction", "both", "--duration", "5")
IDLE_SECONDS = 2.0
COST_SECONDS = "2"
COST_TURNS = 2


# Suffixes for the ids of rows, each with the host's read latency in ns. At these latencies the
# number of reads in flight begins to limit the rate.
FAR_READS = (("@1us", 1000), ("@2us", 2000), ("@5us", 5000), ("@10us", 10000))


@dataclass(frozen=True)
class Bench:
    """The gateware and board with one endpoint, and the litepcie_util that measures the board."""

    endpoint: str
    built: artefacts.Artefacts
    util: Path
    seed: int

    def at(self, **conditions) -> Conditions:
        """Return the conditions of a measurement with this endpoint and seed.

        Conditions that are not given have their defaults.
        """
        return Conditions(self.endpoint, seed=self.seed, **conditions)

    @property
    def registers(self) -> Path:
        """Return the path of csr.json, the register map of this gateware."""
        return self.built.gateware / "csr.json"

    def card(self, *more: str, **conditions) -> Card:
        """Return a context manager that runs a board under these conditions, with litepcie_util.

        `more` are further options of the board.
        """
        return Card(self.built.board, self.util, self.at(**conditions), list(more))


def rows_of(bench: Bench) -> Iterator[Row]:
    """Measure and yield all rows of one endpoint.

    Streams come first, each on a new board. Accesses by software come next. The rows that only the
    Lanebox endpoint has come last.
    """
    for mps in (128, 256, 512):
        yield measure.c2h(*_stream(bench, C2H, mps=mps))
    for mps, completion in ((256, 64), (256, 128), (256, 256), (512, 512)):
        yield measure.h2c(*_stream(bench, H2C, mps=mps, completion_size=completion))
    yield measure.duplex(*_stream(bench, BOTH))
    yield from ideal_reads(bench)
    yield from by_software(bench)
    yield from idle_reads.rows(bench.built.board, bench.registers, bench.at())
    if bench.endpoint == "lanebox":
        yield from far_reads(bench)
        yield from small(bench)
        yield from a_host_as_it_is(bench)
        measured = partial(streams.measure, bench.built.board, bench.registers)
        yield from held.rows(measured, bench.at())
        yield from measure.duplex_apart(*_stream(bench, BOTH, mps=512))
        yield from peer.rows(bench.built.board, bench.registers, bench.at())
        slow = artefacts.build(bench.endpoint, AXI50)
        at = bench.at(user=AXI50.name)
        yield from peer.axi_rows(slow.board, slow.gateware / "csr.json", at)
        reader = artefacts.build(bench.endpoint, COMMANDS)
        at = bench.at(user=COMMANDS.name)
        yield from commands.rows(reader.board, reader.gateware / "csr.json", at)
        built = artefacts.build(bench.endpoint, capture=True)
        for module in (capture_rate, capture_line, capture_both, capture_cost):
            yield from module.rows(built.board, built.gateware / "csr.json", bench.at())
        built = artefacts.build(bench.endpoint, capture=capture_queues.QUEUES)
        yield from capture_queues.rows(built.board, built.gateware / "csr.json", bench.at())
        yield from capture_host.rows()
        built = artefacts.build(bench.endpoint, card=True)
        yield from flash.rows(built.board, built.gateware / "csr.json", bench.at())
        firmware = artefacts.build(bench.endpoint, card=True, firmware="default")
        yield from cpu.rows(built, firmware, bench.at())
        built = artefacts.build(bench.endpoint, virtio=True)
        yield from virtio_latency.rows(built.board, built.gateware / "csr.json", bench.at())
        built = artefacts.build(bench.endpoint, virtio=True, packed=True)
        yield from virtio_latency.packed_rows(built.board, built.gateware / "csr.json", bench.at())
        built = artefacts.build(bench.endpoint, virtio=True, port="wire")
        yield from virtio_line.rows(built.board, built.gateware / "csr.json", bench.at())
        yield from area.rows(bench.built.gateware)


def by_software(bench: Bench) -> Iterator[Row]:
    """Measure single accesses and transfers with litepcie_util, and yield their benchmark rows."""
    with bench.card() as card:
        yield from measure.mmio(*_run(card, "mmio_bench"))
        yield from measure.latency(*_run(card, "latency"))


def ideal_reads(bench: Bench) -> Iterator[Row]:
    """Yield benchmark rows of h2c over a link on which bytes take no time, so that only the hard
    block's pins limit the rate.
    """
    for mps, completion in ((256, 64), (256, 128), (256, 256), (512, 512)):
        at = {"mps": mps, "completion_size": completion}
        yield measure.h2c_ideal(*_stream(bench, H2C, "--link-rate", "off", **at))


def far_reads(bench: Bench) -> Iterator[Row]:
    """Yield rows of h2c with read latencies from 1 to 10 us.

    They are measured at RCB 64 and 128. At RCB 128 and 5 us two sizes of descriptors are measured
    as well, and at 2 us an MRRS of 128 bytes.
    """
    for rcb in (64, 128):
        for suffix, latency in FAR_READS:
            entry = measure.h2c(*_stream(bench, H2C, rcb=rcb, read_latency_ns=latency))
            entry.id += suffix + ("" if rcb == 64 else "/rcb128")
            yield entry
    for size in (256, 4096):
        at = {"rcb": 128, "read_latency_ns": 5000}
        yield _small(bench, f"h2c/cpl256@5us/rcb128/desc{size}", "h2c", size, **at)
    at = {"mrrs": 128, "completion_size": 128, "read_latency_ns": 2000}
    yield _small(bench, "h2c/cpl128@2us/mrrs128", "h2c", streams.BUFFER, **at)


def small(bench: Bench) -> Iterator[Row]:
    """Yield rows of small descriptors.

    The fetch and handling of such a descriptor cost about as much as the transfer of its data.
    """
    for size in SMALL:
        yield _small(bench, f"small/c2h/{size}", "c2h", size)
    for suffix, latency in (("@0.6us", 600), ("@1.5us", 1500)):
        for size in SMALL:
            name = f"small/h2c/{size}{suffix}"
            yield _small(bench, name, "h2c", size, read_latency_ns=latency)
    yield _small(bench, "small/h2c/64@5us", "h2c", 64, read_latency_ns=5000)


def a_host_as_it_is(bench: Bench) -> Iterator[Row]:
    """Yield rows of reads from a host that is not ideal.

    Such a host has read latencies that vary, a few reads that are answered 5 us late, or
    completions of 64 bytes.
    """
    jitter = {"read_latency_ns": 800, "jitter_ns": 400}
    yield _small(bench, "h2c/cpl256@400-1200ns", "h2c", 4096, streams.LONG_WINDOW, **jitter)
    for percent in (1, 3):
        late = {"read_latency_ns": 1500, "late_percent": percent, "late_ns": 5000}
        name = f"h2c/cpl256@1.5us/late{percent}"
        yield _small(bench, name, "h2c", 4096, streams.LONG_WINDOW, **late)
    pieces = {"read_latency_ns": 1500, "completion_size": 64}
    yield _small(bench, "h2c/cpl64@1.5us", "h2c", 4096, **pieces)


def compare(rows: list[Row]) -> None:
    """Set `vs` in each row of the Lanebox endpoint that LitePCIe's endpoint has, too.

    `vs` is the Lanebox endpoint's value divided by that of LitePCIe's.
    """
    by_id = {entry.id: entry for entry in rows}
    stock = ENDPOINTS["litepcie"].prefix
    for entry in rows:
        other = by_id.get(stock + entry.id)
        if other and entry.value and other.value:
            entry.vs = entry.value / other.value


def _stream(bench: Bench, job: Job, *more: str, **conditions) -> tuple[dict, Conditions, int]:
    return streams.measure(bench.built.board, bench.registers, bench.at(**conditions), job, *more)


def _small(
    bench: Bench, name: str, way: str, size: int, window: int = streams.WINDOW, **conditions
) -> Row:
    job = Job((way,), size, window=window)
    return measure.small(*_stream(bench, job, **conditions), name, size)


def _run(card: Card, *arguments: str) -> tuple[dict, Conditions, int]:
    report, violations = card.run(*arguments)
    return report, card.at, violations


def speed(card: Card) -> Row:
    """Return the row of the simulation's speed: device cycles in a second of CPU time.

    The cycles have traffic in both directions.
    """
    card.run(*BOTH_WAYS)
    stats = card.board.stats()
    return row(
        "sim/speed",
        stats["cycles"] / stats["cpu_seconds"],
        "cycles/s",
        cycles=stats["cycles"],
        conditions={"cpu_seconds": stats["cpu_seconds"], "workload": "duplex, data compared"},
    )


def rules_cost(board: Path, util: Path, at: Conditions) -> Row:
    """Return the row of the simulation's speed with all rules checked, relative to it with none.

    Runs with rules and runs without alternate, so that a change of the machine's speed affects them
    alike.
    """
    cycles, seconds = {"off": 0, "warn": 0}, {"off": 0.0, "warn": 0.0}
    for mode in ("off", "warn") * COST_TURNS:
        with Card(board, util, at, ["--rules", mode]) as card:
            card.run(*BOTH_WAYS[:-1], COST_SECONDS)
            stats = card.board.stats()
        cycles[mode] += stats["cycles"]
        seconds[mode] += stats["cpu_seconds"]
    speed = {mode: cycles[mode] / seconds[mode] for mode in cycles}
    conditions = {"cycles_per_second": speed, "workload": "duplex, data compared"}
    ratio = speed["warn"] / speed["off"]
    return row("sim/rules_cost", ratio, "of the speed", conditions=conditions)


def idle(card: Card) -> Row:
    """Measure the CPU time of an idle board without a client, in percent of a core.

    Return it as a row.
    """
    before = card.board.cpu_seconds()
    time.sleep(IDLE_SECONDS)
    used = (card.board.cpu_seconds() - before) / IDLE_SECONDS * 100
    return row("sim/idle_cpu", used, "% of a core", conditions={"seconds": IDLE_SECONDS})


def everything(seed: int, names: list[str]) -> Iterator[Row]:
    """Yield the benchmark rows of the model, then those of each endpoint, then those of the
    simulation.
    """
    yield from model.rows()
    benches = []
    for name in names:
        built = artefacts.build(name)
        benches.append(Bench(name, built, artefacts.utility(built.headers), seed))
    for bench in benches:
        yield from rows_of(bench)
    first = benches[0]
    yield from simulation(first)


def simulation(bench: Bench) -> Iterator[Row]:
    """Yield benchmark rows of the simulation: its speed, its CPU time when idle, and the cost of
    checking the rules.
    """
    with bench.card() as card:
        yield speed(card)
        yield idle(card)
    yield rules_cost(bench.built.board, bench.util, bench.at())


def recorded(seed: int, name: str) -> Recording:
    """Record and return the TLP traces for the report page, on a board with the endpoint `name`."""
    built = artefacts.build(name)
    return record(built.board, artefacts.utility(built.headers), Conditions(name, seed=seed))


def main() -> int:
    """Measure all benchmark rows, print the table and write the report page.

    Return the exit status.
    """
    parser = argparse.ArgumentParser(
        prog="python -m sim.bench", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--endpoint", choices=sorted(ENDPOINTS), help="only this one (all)")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (1)")
    args = parser.parse_args()
    names = [args.endpoint] if args.endpoint else sorted(ENDPOINTS, key=lambda n: n != DEFAULT)
    started = time.monotonic()
    rows = []
    try:
        for entry in everything(args.seed, names):
            rows.append(entry)
            print(f"[{time.monotonic() - started:5.0f} s] {entry.id}", file=sys.stderr, flush=True)
        recording = recorded(args.seed, names[0])
    except SimError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted, nothing was recorded", file=sys.stderr)
        return 130
    compare(rows)
    merge(rows)
    shown = page.write(recording)
    print(table(rows))
    places = [str(path.relative_to(artefacts.ROOT)) for path in (RESULTS, shown)]
    print(f"\nrecorded in {places[0]}, to be looked at in {places[1]}")
    for sentence in (wrong := complaints(rows)):
        print(f"bench: {sentence}", file=sys.stderr)
    return int(bool(wrong))


def complaints(rows: list[Row]) -> list[str]:
    """Return a sentence for each row above its limit, that has broken rules, or that has lost
    frames where none may be lost.

    A correct simulation has no such row.
    """
    return [
        *(f"{entry.id} is beyond its limit, which cannot be" for entry in beyond(rows)),
        *(f"{entry.id} broke {entry.violations} rules of the hard block" for entry in broken(rows)),
        *(f"{entry.id} lost {entry.value:g} frames, and none may be lost" for entry in lossy(rows)),
    ]


if __name__ == "__main__":
    sys.exit(main())
