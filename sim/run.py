# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""make sim: the board in a box runs the MMIO and DMA benchmarks.

With a guest (the default) a Debian kernel boots in QEMU, loads our driver and runs litepcie_util.
With --vm 0 the same utility talks to the board's socket. Either way the numbers are counted by the
card and the data is compared. With --driver stock the guest loads LitePCIe's driver, whose rings
our library does not use. Then our utility only measures registers, and LitePCIe's own utility moves
the data. Exit status: 0 ok, 1 failed, 2 usage, 130 interrupted."""

from __future__ import annotations

import argparse
import functools
import json
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gateware.numbers import CAPTURE_QUEUES, MEMORY_BASES
from sim import artefacts, examples, pcap, virtio
from sim.board.process import BoardProcess
from sim.card import Card
from sim.clients import programs
from sim.endpoints import DEFAULT, ENDPOINTS
from sim.errors import SimError, TestFailed
from sim.examples import Example
from sim.guest import debian
from sim.guest import run as guest_run
from sim.guest import virtio as guest_virtio
from sim.guest.driver import DRIVERS
from sim.guest.folder import Folder
from sim.guest.initramfs import Initramfs
from sim.guest.packages import SetupError
from sim.guest.supervise import GuestError
from sim.report import page
from sim.report.record import record
from sim.rows import measure, streams, user_slot
from sim.rows.measure import Conditions
from sim.rows.results import RESULTS, Row, merge, row, table
from sim.rows.streams import Job
from sim.rows.virtio import guest as guest_rows
from sim.serve import serve
from tools.progress import StepError, phase

ROOT = artefacts.ROOT
WAVES = ROOT / "build" / "waves.fst"
# Device time in ns at which the recording of waves ends. Until then the registers' tests and the
# first DMA have run; the file has some 20 MB.
WAVES_TO = "2000000"
LAYOUT = ROOT / "sim" / "board" / "waves.gtkw"
SIZE = "16M"  # Bytes that the guest moves through the card in each direction, and compares.
DEVICE = "/dev/litepcie0"
GUEST_SECONDS = 180
# Paces of the board that are tried one after the other, in cycles of device time per second. If the
# guest cannot keep up, the card waits for it and the measured rate is too low. The run is then
# repeated at the next, slower pace. The card itself behaves the same at any pace, as device time is
# its only clock.
GUEST_PACES = (200_000, 100_000)
KEPT_UP = 0.95  # The guest has kept up with the board if each rate reaches this share of its limit.
# Cycles a second at which LitePCIe's own utility keeps up: LitePCIe's DMA does not wait for it.
STOCK_PACE = 200_000
STOCK = [
    "litepcie_util_stock info",
    "litepcie_util_stock scratch_test",
    "litepcie_util_stock -z -t 5 dma_test >/out/stock || true",
    "cat /out/stock",
]

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
    """Settings of one run of `make sim`: built board, conditions of the measurement, and guest."""

    built: artefacts.Artefacts
    at: Conditions
    options: list[str]  # Options for the board's command line that are not part of the conditions.
    guest: guest_run.Guest | None = None
    accel: str = "tcg"
    # More files for the guest, as pairs (path on the host, path in the guest).
    files: Sequence[tuple[str, str]] = ()
    debian: bool = False  # the guest has the programs of Debian, such as Python and fio
    virtio: bool = False  # the card has a virtio device, and the guest the drivers for it

    def board(self, *more: str) -> BoardProcess:
        """Return a context manager that runs the board of this plan.

        `more` are further options of the board."""
        return BoardProcess(self.built.board, [*self.at.board_options(), *self.options, *more])

    def run_guest(self, board: BoardProcess, commands, files, **choices) -> guest_run.Result:
        """Run a guest connected to the board, with the tools and the example's folder.

        Returns what the guest left behind."""
        example = self.built.example
        folder = Folder(example.folder) if isinstance(example, Example) else None
        if self.debian:
            choices.setdefault("memory", debian.MEMORY)
        result = guest_run.run_guest(
            board.socket,
            commands,
            [*self.tools(), *files],
            guest=self.guest,
            folder=folder,
            logs=[("the board's log", board.log)],
            alive=board.gone,
            more=self.programs(),
            mps=self.at.mps,
            mrrs=self.at.mrrs,
            accel=self.accel,
            **choices,
        )
        for sentence in result.folder:
            print(f"{folder.path}: {sentence}", file=sys.stderr)
        return result

    def tools(self) -> list[tuple[Path | str, str]]:
        """Return the files that every guest gets, as pairs of host path and guest path.

        They are litepcie_util, csr.json, the example's C client if it has one, and those of --file.
        """
        built = self.built
        found = [
            (artefacts.utility(built.headers, static=True), "bin/litepcie_util"),
            (built.gateware / "csr.json", "root/csr.json"),
        ]
        if self.has_client:
            client = artefacts.client(built.example, built.headers, static=True)
            found.append((client, f"bin/{client.name}"))
        if self.virtio:
            found += guest_virtio.files(self.guest.kernel)
        return [*found, *self.files]

    def programs(self) -> Callable[[Initramfs], None] | None:
        """Return a function that adds Debian's programs and lanebox_host to the guest's initramfs.

        Returns None if GUEST=debian was not asked for."""
        if not self.debian:
            return None
        package = ROOT / "software" / "python" / "lanebox_host"
        return functools.partial(debian.put, package=package, library=artefacts.library())

    @property
    def python_client(self) -> bool:
        """Say whether the example has a client.py that works with this driver.

        LitePCIe's driver does not work with our library."""
        example = self.built.example
        here = isinstance(example, Example) and (example.folder / "client.py").is_file()
        return here and self.at.driver != "stock"

    @property
    def has_client(self) -> bool:
        """Say whether the example has a client.c that works with this driver."""
        client = getattr(self.built.example, "client", None)
        return client is not None and self.at.driver != "stock"


def rows_of(reports: dict[str, dict], at: Conditions, violations: dict[str, int]) -> list[Row]:
    """Return the rows of the short set of benchmarks, in the order of the reports.

    `reports` has the JSON of each test, and `violations` how often it broke rules."""
    rows: list[Row] = []
    for name, report in reports.items():
        if name == "mmio":
            rows += measure.mmio(report, at, violations.get(name))
        else:
            rows.append(MEASURES[name](report, at, violations.get(name)))
    return rows


# Measurements without a guest --------------------------------------------------------------------


def without_guest(plan: Plan) -> list[Row]:
    """Measure the short set of benchmarks over the board's socket, and return the rows.

    litepcie_util moves the data and compares it. Its speed depends on the machine's load, and its
    register writes share the link. The rates therefore come from sim/rows/streams.py, where no
    software takes part."""
    built = plan.built
    util = artefacts.utility(built.headers)
    with Card(built.board, util, plan.at, plan.options) as card:
        for command in ("info", "scratch_test"):
            if card.show(command):
                raise TestFailed(f"litepcie_util {command} failed")
        if built.example is not None:
            programs.run(built.example, built, f"sim:{card.board.socket}")
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


# Measurements in a guest -------------------------------------------------------------------------


def in_guest(plan: Plan) -> list[Row]:
    """Measure the short set of benchmarks in a guest. Return the rows.

    With our driver all benchmarks of the set run. With LitePCIe's driver only those of registers
    run."""
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
    """Raise TestFailed if the output of LitePCIe's dma_test shows an error or no data.

    The exit status of dma_test is 0 even after errors."""
    lines = [line.split() for line in text.splitlines()]
    found = [line for line in lines if len(line) == 5 and line[0].replace(".", "").isdigit()]
    if not found or not int(found[-1][2]) or any(int(line[4]) for line in found):
        raise TestFailed(f"LitePCIe's dma_test moved nothing, or wrong data:\n{text}")


def _rows(plan: Plan, result: guest_run.Result, stats: dict, memory: int) -> list[Row]:
    """Return the rows of what one guest measured.

    Raises TestFailed if anything failed in the guest."""
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
    """Run one guest. Return its result, the board's counters, and the board's memory in MiB."""
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
    elif plan.has_client:
        name = built.example.title
        commands.append(f"(cd /root/{name} && {name} {DEVICE})")
    if plan.python_client and not plan.debian:
        print("sim: client.py is left out, the guest has no Python: GUEST=debian", file=sys.stderr)
    elif plan.python_client:
        commands.append(f"(cd /root/{built.example.title} && python3 client.py -d {DEVICE})")
    for name, command in tests.items():
        commands.append(f"litepcie_util --json {' '.join(command)} >/out/{name}.json")
        commands.append(f"echo {name} done")
    return commands, files


def _reports(result: guest_run.Result) -> dict[str, dict]:
    """Return the JSON reports that the guest wrote, by the name of the test.

    The guest stops at the first command that fails, so later tests have no report."""
    files = {name: result.files.get(f"{name}.json") for name in TESTS}
    return {name: json.loads(text) for name, text in files.items() if text}


def shell(plan: Plan) -> int:
    """Run an interactive guest connected to the board. Return its exit status."""
    if plan.virtio:
        hint = ["echo " + shlex.quote(guest_virtio.HINT)]
        with guest_rows.wired(plan) as (board, more):
            return plan.run_guest(board, hint, interactive=True, timeout=None, **more).rc
    with plan.board() as board:
        return plan.run_guest(board, [], [], interactive=True, timeout=None).rc


# The command line of `make sim` ------------------------------------------------------------------


def parse() -> argparse.Namespace:
    """Parse the command line and return the options. argparse ends the program if one is wrong."""
    defaults = Conditions()
    parser = argparse.ArgumentParser(prog="python -m sim.run", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--vm", choices=("0", "1"), default="1", help="0: no guest, litepcie_util on the socket")
    add("--shell", action="store_true", help="an interactive guest instead of the benchmarks")
    add("--board", action="store_true", help="a board that stays, until Ctrl-C")
    add("--mps", type=int, choices=(128, 256, 512), default=defaults.mps, help="bytes (256)")
    add("--mrrs", type=int, choices=(128, 256, 512), default=defaults.mrrs, help="bytes (512)")
    add("--rcb", type=int, choices=(64, 128), default=defaults.rcb, help="bytes (64)")
    add(
        "--read-latency",
        type=int,
        default=defaults.read_latency_ns,
        metavar="NS",
        help="host memory, last RQ beat to first RC beat (600)",
    )
    add(
        "--mmio-rtt",
        type=int,
        default=defaults.mmio_rtt_ns,
        metavar="NS",
        help="the host's share of an MMIO read (700)",
    )
    add("--seed", type=int, default=defaults.seed, help="of everything random (1)")
    add("--endpoint", choices=sorted(ENDPOINTS), default=defaults.endpoint)
    add(
        "--example",
        metavar="NAME",
        help=f"the user slot's logic: a folder, or {', '.join(examples.names())}",
    )
    add(
        "--memory0",
        metavar="FILE",
        help=f"contents at BAR0 + {MEMORY_BASES[0]:#x}: .hex, .coe or .bin (zeros)",
    )
    add("--memory1", metavar="FILE", help=f"contents at BAR0 + {MEMORY_BASES[1]:#x} (zeros)")
    add("--msix", action="store_true", help="gateware with MSI-X, which the guest then uses")
    add("--virtio", action="store_true", help="gateware with virtio devices, and their drivers")
    add(
        "--capture",
        type=int,
        choices=CAPTURE_QUEUES,
        default=0,
        metavar="QUEUES",
        help="gateware with the capture block: 1, 2, 4, 8 or 16 queues (none)",
    )
    add("--kernel", metavar="SERIES", help="guest kernel: 6.1, 6.12 (the host release's own)")
    add(
        "--driver",
        choices=DRIVERS,
        default=DRIVERS[0],
        help="in the guest: ours (lanebox), or LitePCIe's own (stock)",
    )
    add(
        "--guest",
        choices=("small", "debian"),
        default="small",
        help="debian: with Python, NumPy, lspci, fio, iperf3, ethtool (small)",
    )
    add(
        "--file",
        action="append",
        default=[],
        type=guest_run.file_pair,
        metavar="HOST:GUEST",
        help="a file for the guest, such as ./tool:bin/tool (repeatable)",
    )
    add("--accel", choices=("tcg", "kvm"), default="tcg", help="tcg")
    add("--waves", action="store_true", help=f"write {WAVES.relative_to(ROOT)} and its layout")
    add("--waves-from", metavar="NS", help="device time at which the waves begin")
    add("--waves-to", metavar="NS", default=WAVES_TO, help=f"and at which they end ({WAVES_TO})")
    add(
        "--fault",
        action="append",
        default=[],
        metavar="NAME[:N]",
        help="plant a fault, to see that it is noticed (sim/README.md)",
    )
    add("--pcap", metavar="FILE", help="play this capture through the card and back instead")
    add("--tlp-log", metavar="FILE", help="a line for each TLP; FILE.pcapng: the TLPs themselves")
    return parser.parse_args()


def board_extras(args: argparse.Namespace) -> list[str]:
    """Return the board's options for trace, faults and waves, which are not in Conditions.

    With --waves the layout file for GTKWave is written as well."""
    extras = ["--tlp-log", args.tlp_log] if args.tlp_log else []
    for fault in args.fault:
        extras += ["--fault", fault]
    if args.waves:
        layout = LAYOUT.read_text()
        # With LitePCIe's endpoint the hard block is one level deeper in the hierarchy of modules,
        # inside a wrapper.
        if args.endpoint == "litepcie":
            layout = layout.replace("lanebox.pcie_usp_i", "lanebox.pcie_support.pcie_usp_i")
        WAVES.with_suffix(".gtkw").write_text(layout)
        extras += ["--waves", str(WAVES)]
        for edge in ("from", "to"):
            if value := getattr(args, f"waves_{edge}"):
                extras += [f"--waves-{edge}", value]
    return extras


def trace_hint(path: str) -> str:
    """Return a sentence that tells the user how to look at the recorded TLP trace."""
    if not path.endswith(".pcapng"):
        return f"TLPs: {path}"
    return (
        f"TLPs: .venv/bin/python -m sim.trace {path} (--text, --perfetto), or "
        f"wireshark -X lua_script:sim/trace/lanebox_tlp.lua {path}"
    )


def _guest(args: argparse.Namespace, built: artefacts.Artefacts) -> guest_run.Guest:
    return guest_run.prepare(args.kernel, built.headers, choice=args.driver)


def _parts(args: argparse.Namespace) -> int:
    """Return how many parts this run has: build, guest, measurement and report page.

    The display of the progress shows the present part and this number."""
    if args.board or args.shell:
        return 2 if args.shell and args.vm == "1" else 1
    return 4 if args.vm == "1" else 3


def run(args: argparse.Namespace) -> int:
    """Build, measure and print as the options say. Return the exit status."""
    if args.guest == "debian" and (args.vm == "0" or args.board):
        raise ValueError("GUEST=debian: there is no guest with VM=0, and beside a board that stays")
    if args.pcap:
        return pcap.run(args, board_extras(args))
    if args.virtio:
        virtio.check(args)
    example = examples.find(args.example) if args.example else None
    memories = {n: file for n, file in enumerate([args.memory0, args.memory1]) if file}
    parts = _parts(args)
    phase(1, parts)
    stays = args.board or (args.shell and args.vm == "0")
    with_guest = not stays and (args.vm == "1" or args.shell)
    port = virtio.far_side(args.virtio and with_guest)
    built = artefacts.build(
        args.endpoint,
        example,
        args.waves,
        memories,
        args.msix,
        capture=args.capture,
        virtio=args.virtio,
        port=port,
    )
    at = Conditions(
        args.endpoint,
        mps=args.mps,
        mrrs=args.mrrs,
        rcb=args.rcb,
        seed=args.seed,
        read_latency_ns=args.read_latency,
        mmio_rtt_ns=args.mmio_rtt,
        user=example.name if example else "loopback",
        driver=args.driver if with_guest else None,
    )
    phase(min(2, parts), parts)
    guest = _guest(args, built) if with_guest else None
    plan = Plan(
        built,
        at,
        board_extras(args),
        guest,
        args.accel,
        args.file,
        args.guest == "debian",
        args.virtio,
    )
    if stays:
        return serve(plan.board(), built)
    if args.shell:
        return shell(plan)
    phase(parts - 1, parts)
    if args.virtio:
        return virtio.finish(virtio.measured(plan, args.msix))
    started = time.monotonic()
    rows = in_guest(plan) if guest else without_guest(plan)
    if example:
        alone = replace(at, driver=None)
        rows += user_slot.rows(built.board, built.gateware / "csr.json", alone)
    wall = time.monotonic() - started
    rows.append(row("sim/wall", wall, "s", conditions={"host": rows[0].conditions["host"]}))
    merge(rows)
    phase(parts, parts)
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
    """Run `make sim` as the command line asks. Return the exit status."""
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
