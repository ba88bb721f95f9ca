# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""make sim: the board in a box runs the MMIO and DMA benchmarks.

With a guest (the default) a Debian kernel boots in QEMU, loads our driver and runs litepcie_util;
with --vm 0 the same utility talks to the board's socket. Either way the numbers are the card's own
and the data is compared. With --driver stock it is LitePCIe's driver, whose rings our library does
not use: there ours measures the registers, and LitePCIe's own utility moves data.
Exit status: 0 ok, 1 failed, 2 usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from sim import artefacts, examples, measure, streams
from sim.board.process import BoardProcess
from sim.card import Card
from sim.endpoints import DEFAULT, ENDPOINTS
from sim.errors import SimError, TestFailed
from sim.guest import run as guest_run
from sim.guest.driver import DRIVERS
from sim.guest.packages import SetupError
from sim.guest.supervise import GuestError
from sim.measure import Conditions
from sim.report import page
from sim.report.record import record
from sim.results import RESULTS, Row, merge, row, table
from sim.streams import Job
from tools.progress import StepError

ROOT = artefacts.ROOT
WAVES = ROOT / "build" / "waves.fst"
WAVES_TO = "2000000"  # the registers' tests and the first DMA; a file of some 20 MB
LAYOUT = ROOT / "sim" / "board" / "waves.gtkw"
SIZE = "16M"  # compared in each direction
DEVICE = "/dev/litepcie0"
GUEST_SECONDS = 180
# Cycles a second. A card that waits for the guest is measured too slow, so where a machine is too
# busy for the first pace the run is repeated, slower. Device time itself is unaffected.
GUEST_PACES = (200_000, 100_000)
KEPT_UP = 0.95  # of its limit, by each rate
STOCK_PACE = 200_000  # at which LitePCIe's own utility, whose card waits for nobody, keeps up
STOCK = [
    "litepcie_util_stock info", "litepcie_util_stock scratch_test",
    "litepcie_util_stock -z -t 5 dma_test >/out/stock || true", "cat /out/stock",
]  # fmt: skip

TESTS = {
    "mmio": ("mmio_bench", "--count", "200"),
    "c2h": ("dma_test", "--direction", "c2h", "--size", SIZE),
    "h2c": ("dma_test", "--direction", "h2c", "--size", SIZE),
    "duplex": ("dma_test", "--direction", "loopback", "--size", SIZE),
}
JOBS = {
    "c2h": Job(("c2h",)),
    "h2c": Job(("h2c",)),
    "duplex": Job(("c2h", "h2c"), loopback=True),
}
MEASURES = {"c2h": measure.c2h, "h2c": measure.h2c, "duplex": measure.duplex}


@dataclass(frozen=True)
class Plan:
    """What to run, and under which conditions."""

    built: artefacts.Artefacts
    at: Conditions
    options: list[str]  # of the board, beyond the conditions
    guest: guest_run.Guest | None = None
    accel: str = "tcg"

    def board(self, *more: str) -> BoardProcess:
        """The board of this plan, to be entered."""
        return BoardProcess(self.built.board, [*self.at.board_options(), *self.options, *more])

    def run_guest(self, board: BoardProcess, commands, files, **choices) -> guest_run.Result:
        """A guest with the board plugged in and litepcie_util installed."""
        util = artefacts.utility(self.built.headers, static=True)
        return guest_run.run_guest(
            board.socket, commands, [(util, "bin/litepcie_util"), *files], guest=self.guest,
            logs=[("the board's log", board.log)], alive=board.gone,
            mps=self.at.mps, mrrs=self.at.mrrs, accel=self.accel, **choices,
        )  # fmt: skip


def rows_of(reports: dict[str, dict], at: Conditions, violations: dict[str, int]) -> list[Row]:
    """Rows of the short set, in the order of TESTS."""
    rows: list[Row] = []
    for name, report in reports.items():
        if name == "mmio":
            rows += measure.mmio(report, at, violations.get(name))
        else:
            rows.append(MEASURES[name](report, at, violations.get(name)))
    return rows


# Without a guest ---------------------------------------------------------------------------------


def without_guest(plan: Plan) -> list[Row]:
    """The short set over the board's socket.

    The utility moves the data and compares it. How fast it is depends on what else the machine
    does, and its register writes share the link; so the rates are of streams without software.
    """
    built = plan.built
    util = artefacts.utility(built.headers)
    with Card(built.board, util, plan.at, plan.options) as card:
        for command in ("info", "scratch_test"):
            if card.show(command):
                raise TestFailed(f"litepcie_util {command} failed")
        if built.example is not None:
            client = artefacts.client(built.example, built.headers)
            _run_client(client, f"sim:{card.board.socket}")
        reports, violations = {}, {}
        for name, command in TESTS.items():
            reports[name], violations[name] = card.run(*command)
            measure.check(reports[name])
    for name, job in JOBS.items():
        compared = {way: reports[name][way]["compared_bytes"] for way in job.ways}
        reports[name], _, violations[name] = streams.measure(
            built.board, built.gateware / "csr.json", plan.at, job
        )
        for way, moved in compared.items():
            reports[name][way]["compared_bytes"] += moved
    return rows_of(reports, plan.at, violations)


def _run_client(client: Path, device: str) -> None:
    print(f"example {client.name}:")
    if os.spawnv(os.P_WAIT, client, [str(client), device]):
        raise TestFailed(f"the client of the example {client.name} failed")


# In a guest --------------------------------------------------------------------------------------


def in_guest(plan: Plan) -> list[Row]:
    """The short set in a guest, on our driver; on LitePCIe's what works there."""
    if plan.at.driver == "stock":
        result, *rest = _boot(plan, STOCK_PACE)
        _check_stock(result.files.get("stock", b"").decode())
        return _rows(plan, result, *rest)
    paces = GUEST_PACES if plan.at.endpoint == DEFAULT else GUEST_PACES[1:2]
    for pace in paces:
        rows = _rows(plan, *_boot(plan, pace))
        rates = [entry for entry in rows if entry.unit == "GB/s"]
        if pace == paces[-1] or all(entry.ratio >= KEPT_UP for entry in rates):
            break
        print(f"sim: the guest fell behind at {pace:,} cycles/s: again, slower", file=sys.stderr)
    return rows


def _check_stock(text: str) -> None:
    """What LitePCIe's dma_test printed: it ends with 0 whatever it found."""
    lines = [line.split() for line in text.splitlines()]
    found = [line for line in lines if len(line) == 5 and line[0].replace(".", "").isdigit()]
    if not found or not int(found[-1][2]) or any(int(line[4]) for line in found):
        raise TestFailed(f"LitePCIe's dma_test moved nothing, or wrong data:\n{text}")


def _rows(plan: Plan, result: guest_run.Result, stats: dict, memory: int) -> list[Row]:
    """What a guest measured, if nothing failed in it."""
    reports = _reports(result)
    for report in reports.values():
        measure.check(report)
    if result.rc:
        raise TestFailed(f"the guest's commands ended with status {result.rc}")
    print(
        f"\nguest: Linux {plan.guest.kernel.release}, MPS {result.mps}, MRRS {result.mrrs}, "
        f"{result.seconds:.0f} s; board: {memory} MiB, "
        f"rules broken: {stats['violations'] or 'none'}"
    )
    host = f"guest {plan.guest.kernel.release}"
    at = measure.negotiated(plan.at, host, result.mps, result.mrrs)
    return rows_of(reports, at, measure.shares(stats["violations"], list(reports)))


def _boot(plan: Plan, pace: int) -> tuple[guest_run.Result, dict, int]:
    """One guest; its result, the board's counters and the MiB that the board took."""
    commands, files = _commands(plan)
    with plan.board("--pace", str(pace)) as board:
        result = plan.run_guest(board, commands, files, timeout=GUEST_SECONDS, live=True)
        return result, board.stats(), board.resident_bytes() >> 20


def _commands(plan: Plan) -> tuple[list[str], list[tuple[Path, str]]]:
    commands = ["litepcie_util info", "litepcie_util scratch_test"]
    files, tests, built = [], TESTS, plan.built
    if plan.at.driver == "stock":
        tests = {"mmio": TESTS["mmio"]}
        files.append((artefacts.stock_utility(built.headers), "bin/litepcie_util_stock"))
        commands += STOCK
    elif built.example is not None:
        client = artefacts.client(built.example, built.headers, static=True)
        files.append((client, f"bin/{client.name}"))
        commands.append(f"{client.name} {DEVICE}")
    for name, command in tests.items():
        commands.append(f"litepcie_util --json {' '.join(command)} >/out/{name}.json")
        commands.append(f"echo {name} done")
    return commands, files


def _reports(result: guest_run.Result) -> dict[str, dict]:
    """What came back; the commands after the first that failed were not run."""
    files = {name: result.files.get(f"{name}.json") for name in TESTS}
    return {name: json.loads(text) for name, text in files.items() if text}


def shell(plan: Plan) -> int:
    """An interactive guest with the board plugged in."""
    with plan.board() as board:
        return plan.run_guest(board, [], [], interactive=True, timeout=None).rc


# Command line ------------------------------------------------------------------------------------


def parse() -> argparse.Namespace:
    defaults = Conditions()
    parser = argparse.ArgumentParser(prog="python -m sim.run", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--vm", choices=("0", "1"), default="1", help="0: no guest, litepcie_util on the socket")
    add("--shell", action="store_true", help="an interactive guest instead of the benchmarks")
    add("--mps", type=int, choices=(128, 256, 512), default=defaults.mps, help="bytes (256)")
    add("--mrrs", type=int, choices=(128, 256, 512), default=defaults.mrrs, help="bytes (512)")
    add("--rcb", type=int, choices=(64, 128), default=defaults.rcb, help="bytes (64)")
    add("--read-latency", type=int, default=defaults.read_latency_ns, metavar="NS",
        help="host memory, last RQ beat to first RC beat (600)")  # fmt: skip
    add("--mmio-rtt", type=int, default=defaults.mmio_rtt_ns, metavar="NS",
        help="the host's share of an MMIO read (700)")  # fmt: skip
    add("--seed", type=int, default=defaults.seed, help="of everything random (1)")
    add("--endpoint", choices=sorted(ENDPOINTS), default=defaults.endpoint)
    add("--example", metavar="NAME", help=f"logic in the user slot: {', '.join(examples.names())}")
    add("--memory0", metavar="FILE", help="contents at BAR0 + 0x10000: .hex, .coe or .bin (zeros)")
    add("--memory1", metavar="FILE", help="contents at BAR0 + 0x14000 (zeros)")
    add("--msix", action="store_true", help="gateware with MSI-X, which the guest then uses")
    add("--kernel", metavar="SERIES", help="guest kernel: 6.1, 6.12 (the host release's own)")
    add("--driver", choices=DRIVERS, default=DRIVERS[0],
        help="in the guest: ours (lanebox), or LitePCIe's own (stock)")  # fmt: skip
    add("--accel", choices=("tcg", "kvm"), default="tcg", help="tcg")
    add("--waves", action="store_true", help=f"write {WAVES.relative_to(ROOT)} and its layout")
    add("--waves-from", metavar="NS", help="device time at which the waves begin")
    add("--waves-to", metavar="NS", default=WAVES_TO, help=f"and at which they end ({WAVES_TO})")
    add("--fault", action="append", default=[], metavar="NAME[:N]",
        help="plant a fault, to see that it is noticed (sim/README.md)")  # fmt: skip
    add("--tlp-log", metavar="FILE", help="a line for each TLP; FILE.pcapng: the TLPs themselves")
    return parser.parse_args()


def board_extras(args: argparse.Namespace) -> list[str]:
    """Options of the board that are no conditions of a measurement."""
    extras = ["--tlp-log", args.tlp_log] if args.tlp_log else []
    for fault in args.fault:
        extras += ["--fault", fault]
    if args.waves:
        layout = LAYOUT.read_text()
        if args.endpoint == "litepcie":  # its wrapper holds the hard block
            layout = layout.replace("lanebox.pcie_usp_i", "lanebox.pcie_support.pcie_usp_i")
        WAVES.with_suffix(".gtkw").write_text(layout)
        extras += ["--waves", str(WAVES)]
        for edge in ("from", "to"):
            if value := getattr(args, f"waves_{edge}"):
                extras += [f"--waves-{edge}", value]
    return extras


def trace_hint(path: str) -> str:
    """What can be done with the recorded trace."""
    if not path.endswith(".pcapng"):
        return f"TLPs: {path}"
    return (
        f"TLPs: .venv/bin/python -m sim.trace {path} (--text, --perfetto), or "
        f"wireshark -X lua_script:sim/trace/lanebox_tlp.lua {path}"
    )


def _guest(args: argparse.Namespace, built: artefacts.Artefacts) -> guest_run.Guest:
    return guest_run.prepare(args.kernel, built.headers, choice=args.driver)


def run(args: argparse.Namespace) -> int:
    """Build, measure, print."""
    example = examples.find(args.example) if args.example else None
    memories = {n: file for n, file in enumerate([args.memory0, args.memory1]) if file}
    built = artefacts.build(args.endpoint, example, args.waves, memories, args.msix)
    with_guest = args.vm == "1" or args.shell
    at = Conditions(
        args.endpoint, mps=args.mps, mrrs=args.mrrs, rcb=args.rcb, seed=args.seed,
        read_latency_ns=args.read_latency, mmio_rtt_ns=args.mmio_rtt,
        user=example.name if example else "loopback", driver=args.driver if with_guest else None,
    )  # fmt: skip
    guest = _guest(args, built) if with_guest else None
    plan = Plan(built, at, board_extras(args), guest, args.accel)
    if args.shell:
        return shell(plan)
    started = time.monotonic()
    rows = in_guest(plan) if guest else without_guest(plan)
    wall = time.monotonic() - started
    rows.append(row("sim/wall", wall, "s", conditions={"host": rows[0].conditions["host"]}))
    merge(rows)
    shown = page.write(record(built.board, artefacts.utility(built.headers), at))
    print("\n" + table(rows))
    places = [str(path.relative_to(ROOT)) for path in (RESULTS, shown)]
    print(f"\nrecorded in {places[0]}, to be looked at in {places[1]}")
    if args.waves:
        print("waves: gtkwave build/waves.fst build/waves.gtkw")
    if args.tlp_log:
        print(trace_hint(args.tlp_log))
    return 0


def main() -> int:
    args = parse()
    try:
        return run(args)
    except ValueError as error:
        print(f"sim: {error}", file=sys.stderr)
        return 2
    except (SimError, SetupError, StepError, GuestError) as error:
        print(f"sim: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("sim: interrupted, nothing was recorded", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
