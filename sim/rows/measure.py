# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Turns reports of measurements into rows with their limits.

A report is the JSON of litepcie_util, or has the same form if streams.py has measured. Each
function adds the limit that belongs to the conditions. A report that is not "ok" raises TestFailed,
so a failed measurement never becomes a row."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from sim.endpoints import DEFAULT, ENDPOINTS, Endpoint
from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.results import Row, row

# Rules (sim/board/link/rules.cpp) that only an answer to the host can break (OF_MMIO), and rules
# that only a read by the card can break (OF_READS).
OF_MMIO = ("unexpected-completion", "completion-byte-count", "completion-error-form")
OF_READS = (
    "read-above-mrrs",
    "tag-in-use",
    "tag-range",
    "rc-completions",
    "rc-backpressure",
    "completion-space",
)

REAL_DUPLEX = (
    "this host takes all that the link carries; a real host's average is lower: Intel's AN690 "
    "has 6.4 GB/s each way for 2 MB at Gen3 x8"
)


@dataclass(frozen=True)
class Conditions:
    """Endpoint, host and link settings with which a benchmark row was measured. It has them all."""

    endpoint: str = DEFAULT
    # Where the measuring program ran: "client", or "guest" with the release of the guest's kernel.
    host: str = "client"
    driver: str | None = None  # the driver in the guest: "lanebox" or "stock"
    user: str = "loopback"  # the name of the logic in the user slot
    mps: int = 256
    mrrs: int = 512
    rcb: int = 64
    completion_size: int = 0  # bytes of a read completion; 0: as many as MPS
    read_latency_ns: int = 600
    # The latency of a read is at most this many ns below or above read_latency_ns.
    jitter_ns: int = 0
    # Percentage of the card's reads that are late, since the host must first translate their
    # address.
    late_percent: float = 0
    late_ns: int = 0  # A late read of host memory takes this many ns longer.
    mmio_rtt_ns: int = 700
    seed: int = 1

    @property
    def completion(self) -> int:
        """Return the bytes of a full read completion, which has at most MPS bytes."""
        return min(self.completion_size or self.mps, self.mps)

    @property
    def read_latency(self) -> str:
        """Return the value of the board's option --read-latency: a number of ns, or a range."""
        if not self.jitter_ns:
            return str(self.read_latency_ns)
        low, high = (self.read_latency_ns + sign * self.jitter_ns for sign in (-1, 1))
        return f"uniform:{low}:{high}"

    @property
    def mean_read_ns(self) -> float:
        """Return the host's average latency in ns for a read of host memory by the card."""
        return self.read_latency_ns + self.late_percent / 100 * self.late_ns

    @property
    def longest_read_ns(self) -> int:
        """Return the host's longest latency in ns for a read of host memory by the card."""
        return self.read_latency_ns + self.jitter_ns + self.late_ns

    @property
    def card(self) -> Endpoint:
        """Return the facts about the endpoint under test, such as its number of tags."""
        return ENDPOINTS[self.endpoint]

    def board_options(self) -> list[str]:
        """Return the board's command line options for these conditions."""
        return [
            "--mps",
            str(self.mps),
            "--mrrs",
            str(self.mrrs),
            "--rcb",
            str(self.rcb),
            "--completion-size",
            str(self.completion_size),
            "--read-latency",
            self.read_latency,
            "--mmio-rtt",
            str(self.mmio_rtt_ns),
            "--iommu-miss",
            f"{self.late_percent}:{self.late_ns}",
            "--seed",
            str(self.seed),
            "--rules",
            self.card.rules,
        ]


def negotiated(at: Conditions, host: str, mps: int, mrrs: int) -> Conditions:
    """Return the conditions `at` with the host's name, and with the MPS and MRRS that the guest has
    set."""
    return replace(at, host=host, mps=mps, mrrs=mrrs)


def share(violations: dict[str, int], name: str) -> int:
    """Return how many of the breaches in `violations`, {rule of the hard block: how often it was
    broken}, the test called `name` may have caused.

    Several tests share one run. Rules in OF_MMIO count for the test "mmio" only, and rules in
    OF_READS for tests whose card reads (such as "h2c" and "duplex"). All other rules count for
    every test but "mmio".
    """
    mmio, reads = (sum(violations.get(rule, 0) for rule in of) for of in (OF_MMIO, OF_READS))
    others = sum(violations.values()) - mmio - reads
    return {"mmio": mmio, "c2h": others}.get(name, reads + others)


def shares(violations: dict[str, int], names: list[str]) -> dict[str, int | None]:
    """Return {name of a test: number of rules that it may have broken} for the tests of one run.

    If both "h2c" and "duplex" are among the tests, and either may have caused a breach, both get
    None.
    """
    reading = [name for name in names if name in ("h2c", "duplex")]
    found = {name: share(violations, name) for name in names}
    unclear = len(reading) > 1 and any(found[name] for name in reading)
    return {name: None if unclear and name in reading else found[name] for name in names}


def check(report: dict) -> dict:
    """Return litepcie_util's report if its test passed.

    Otherwise raise TestFailed with the reasons."""
    if not report.get("ok"):
        raise TestFailed("; ".join(report.get("failures") or ["litepcie_util gave no reason"]))
    return report


def c2h(report: dict, at: Conditions, violations: int | None) -> Row:
    """Return the benchmark row of the throughput of writes by the card, each with a payload of MPS
    bytes."""
    return _throughput(
        "c2h", f"c2h/mps{at.mps}", report, at, limits.c2h(at.mps, at.mps), violations
    )


def h2c(report: dict, at: Conditions, violations: int | None) -> Row:
    """Return the benchmark row of reads by the card. Its name has the host's completion size."""
    limit = limits.h2c(
        at.completion,
        at.mps,
        at.card.tags,
        at.mrrs,
        at.read_latency_ns,
        straddle=at.card.straddle,
        rcb=at.rcb,
    )
    return _throughput("h2c", f"h2c/cpl{at.completion}", report, at, limit, violations)


def h2c_ideal(report: dict, at: Conditions, violations: int | None) -> Row:
    """Return the row of reads by the card over a link on which bytes take no time.

    Only the rate of the pins, with straddle on RC, limits the value, which is in bytes per cycle.
    """
    found = check(report)["h2c"]
    entry = _throughput(
        "h2c",
        f"h2c_ideal/{at.completion}",
        report,
        at,
        limits.h2c_interface(at.completion),
        violations,
    )
    entry.value, entry.unit = found["bytes_per_cycle"], "B/cycle"
    entry.ratio = entry.value / entry.limit
    return entry


def small(report: dict, at: Conditions, violations: int | None, name: str, size: int) -> Row:
    """Return the row of one direction with descriptors of `size` bytes.

    The limit assumes all 256 tags, so a card with fewer tags stays below the limit."""
    if (way := report["direction"]) == "c2h":
        limit = limits.small_c2h(size, at.mps)
    else:
        limit = limits.small_h2c(
            size,
            at.completion,
            at.mps,
            at.mrrs,
            at.mean_read_ns,
            straddle=at.card.straddle,
            rcb=at.rcb,
        )
    entry = _throughput(way, name, report, at, limit, violations)
    entry.conditions["descriptor_bytes"] = size
    return entry


def duplex_apart(report: dict, at: Conditions, violations: int | None) -> list[Row]:
    """Return a row for each direction, both measured in one run.

    The limit of c2h is what the read requests of h2c leave."""
    reached = check(report)["h2c"]["gb_per_s"]
    bounds = limits.duplex_apart(at.mps, at.mrrs, at.completion, reached)
    return [
        _throughput(way, f"duplex/mps{at.mps}/{way}", report, at, limit, violations)
        for way, limit in zip(("c2h", "h2c"), bounds)
    ]


def duplex(report: dict, at: Conditions, violations: int | None) -> Row:
    """Return the benchmark row of the throughput of both directions at once. Its value is the rate
    of the slower direction."""
    slower = min("c2h", "h2c", key=lambda way: report[way]["bytes_per_cycle"])
    limit = limits.duplex(at.mps, at.mrrs)
    entry = _throughput(slower, f"duplex/mps{at.mps}", report, at, limit, violations)
    entry.reason = REAL_DUPLEX
    return entry


def _throughput(way, name, report, at, limit, violations) -> Row:
    found = check(report)[way]
    return row(
        at.card.prefix + name,
        found["gb_per_s"],
        "GB/s",
        limit,
        violations=violations,
        bytes=found["window_bytes"],
        cycles=report["window"]["cycles"],
        conditions={
            **asdict(at),
            "traffic": report["direction"],
            "compared_bytes": found["compared_bytes"],
        },
    )


def mmio(report: dict, at: Conditions, violations: int | None) -> list[Row]:
    """Return a benchmark row for each kind of access in `report`, the report of `litepcie_util
    mmio_bench`, in its order."""
    return [_access(found, at, violations) for found in check(report)["rows"]]


def _access_limit(size: int, write: bool, at: Conditions) -> limits.Limit | None:
    """Return the limit of one MMIO access of `size` bytes: the least time in ns of a read, or the
    highest rate in MB/s of writes.

    The limit is None for a guest's writes: each store is a message to the board, so such writes
    measure the guest.
    """
    if not write:
        return limits.mmio_read_ns(at.mmio_rtt_ns, at.mps, size)
    if at.host != "client":
        return None
    limit = limits.mmio_write(size, at.mps, below_4_gib=True)
    # limits.py gives GB/s, and the report has MB/s.
    return limits.Limit(limit.value * 1000, limit.binds)


def _access(found: dict, at: Conditions, violations: int | None) -> Row:
    write = found["op"] == "write"
    limit = _access_limit(found["size_bytes"], write, at)
    return row(
        at.card.prefix + found["id"],
        found["value"],
        found["unit"],
        limit,
        lower_is_better=not write,
        p99=None if write else found.get("p99_ns"),
        reason=found["reason"],
        histogram=None if write else found.get("histogram"),
        binds=None if limit else "the guest's own stores",
        violations=None if found["value"] is None else violations,
        conditions=asdict(at),
    )


def latency(report: dict, at: Conditions, violations: int | None) -> list[Row]:
    """Return a row for each time in `report`, the report of `litepcie_util latency`.

    Each time is the median in ns for one size of transfer. It runs from the doorbell to the
    interrupt, or to the last byte.
    """
    return [
        row(
            f"{at.card.prefix}latency/{found['id']}",
            found["value"],
            "ns",
            limits.transfer_ns(at.read_latency_ns, at.mps, found["size_bytes"]),
            lower_is_better=True,
            p99=found.get("p99_ns"),
            histogram=found.get("histogram"),
            reason=found["reason"],
            violations=None if found["value"] is None else violations,
            conditions=asdict(at),
        )
        for found in check(report)["rows"]
    ]
