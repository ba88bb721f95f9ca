# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""make bench VM=1: the processor time that our driver and LitePCIe's take, measured in one run.

Instructions, system calls and copied bytes are counted, since a guest's time says nothing about a
real machine's. QEMU runs with -icount, where one instruction takes one nanosecond of the guest's
clock. The instructions of an idle guest and of the measurement itself are subtracted. Waiting for
data counts as cost. Both drivers are counted by the same programs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from gateware import numbers
from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.errors import SimError, TestFailed
from sim.guest import fio
from sim.guest import run as guest_run
from sim.guest.driver import DRIVERS, OURS
from sim.guest.packages import SetupError
from sim.guest.supervise import GuestError
from sim.rows import host_record
from sim.rows.limits import Limit
from sim.rows.results import RESULTS, Row, merge, row, table
from tools.progress import StepError

BUFFERS = 2048  # The buffers of 8 KiB whose cost is counted in the guest. They give 64 interrupts.
# Each way of taking buffers is run this often. On a busy machine several interrupts may merge into
# one, which costs less.
TIMES = 3
SECONDS = 900
# The bytes of the ring that cost_disk.c (software/kernel/test/cost) writes to the disk.
DISK_BYTES = 128 << 20
# The guest's memory in MiB: the ring, four bounce buffers of 32 MiB, and fio with its libraries.
MEMORY = 1024
GIGABYTE = 1e9
# The share by which the guest's instruction counter may be wrong. A loop of known length checks it.
CLOCK_ERROR = 0.02
# Ways in which a program takes c2h buffers, with the text for their rows. In each of them the
# program sleeps while no buffer is full.
WAYS = {
    "abi": "mapped ring, poll(), counts by ioctl()",
    "poll": "mapped ring, poll(), counts in the index page where the driver has one",
    "read": "read()",
}
# The way in which a program polls the index page and never sleeps. Only its system calls are
# counted.
SPINNING = "index"

# fio with the settings that cost least: it reads no clock for each write and leaves the data as it
# is. With `iodepth` its memory is as large as the ring: one buffer of 1 MiB for each request.
FIO = (
    "--name=o --filename=/dev/nvme0n1 --rw=write --direct=1 --ioengine=psync --mem=malloc --thread "
    f"--bs=1M --iodepth={DISK_BYTES >> 20} --size={DISK_BYTES} --scramble_buffers=0 "
    "--gtod_reduce=1 --invalidate=0 --output-format=terse"
)
# The number of the field in fio's output that has the rate of writing in KiB/s.
FIO_WRITE_RATE = 47
# The loops of each run of fio. Runs with 1 and with 9 loops are compared, because fio's start
# differs by 5 million instructions from run to run.
FIO_LOOPS = (1, 1, 1, 9, 9, 9)
# The setting of transparent huge pages in the guest's kernel for each run of fio.
FIO_PAGES = {"fio": "never", "fio_huge": "always"}
# The counts that are compared: the ring's `disk` line in the output of `cost`, fio's `disk` line,
# and the id of the row.
O_DIRECT = (("ring", "fio", "host/o_direct"), ("own", "fio_huge", "host/o_direct/huge"))
# glibc copies large blocks by `rep movsb`. QEMU counts each of its turns as an instruction, and a
# real processor does not. This setting makes glibc use vector loads and stores instead.
NO_REP = "export GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=0x7fffffff"

# Traces the entry of the interrupt handler and the return from poll(), system call number 7.
TRACE = """
mount -t tracefs none /sys/kernel/tracing; cd /sys/kernel/tracing
echo x86-tsc >trace_clock
echo 'id==7' >events/raw_syscalls/sys_exit/filter
echo 'name ~ "litepcie*"' >events/irq/irq_handler_entry/filter
echo 1 >events/raw_syscalls/sys_exit/enable; echo 1 >events/irq/irq_handler_entry/enable
{traced} >/dev/null; echo 0 >tracing_on; cat trace >/out/trace; cd /root
"""


def program() -> Path:
    """Build `cost`, the static program that counts instructions in the guest. Return its path."""
    folder, out = OURS / "test" / "cost", artefacts.BUILD / "software" / "kernel-test"
    out.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{OURS.parent}", f"-I{folder.parent}"]
    # The program gets its name only when it is complete, since another process may run or build the
    # same file.
    staged = out / f"cost.{os.getpid()}"
    command += ["-static", "-pthread", "-o", staged, *sorted(folder.glob("*.c"))]
    subprocess.run(command, check=True)
    return staged.replace(out / "cost")


def generator(gateware: Path) -> str:
    """Return address and value of the register write that starts the card's pattern generator.

    The generator then fills the c2h ring. The text has the form `0xADDRESS 1`."""
    registers = json.loads((gateware / "csr.json").read_text())["csr_registers"]
    return f"{registers['pattern_control']['addr']:#x} 1"


def commands(driver: str, gateware: Path, buffers: int) -> list[str]:
    """Return the shell commands that count in a guest with this driver.

    The commands leave their results as files in the guest's folder /out."""
    rest = f"/dev/litepcie0 {generator(gateware)} {buffers}"
    counted = [f"cost {way} {rest}" for way in WAYS] * TIMES
    counted += [f"cost calls {way} {rest}" for way in WAYS]
    if driver == "lanebox":
        counted.append(f"cost calls {SPINNING} {rest}")
        counted += [NO_REP, "cost disk /dev/litepcie0 /dev/nvme0n1", *fio_commands()]
        counted += host_record.commands()
    lines = ["{", "cost clock", *counted, "} >/out/cost"]
    return [*lines, TRACE.format(traced=f"cost abi {rest}")]


def fio_commands() -> list[str]:
    """Return the commands that let fio write the whole disk once in a run, and nine times.

    The difference of the two runs does not contain fio's start and end."""
    commands = []
    for name, pages in FIO_PAGES.items():
        commands.append(f"echo {pages} >/sys/kernel/mm/transparent_hugepage/enabled")
        commands += [
            f"cost run {name} {1 << 20} {DISK_BYTES * loops} {fio.COMMAND} {FIO} --loops={loops} "
            f"--output=/out/{name}"
            for loops in FIO_LOOPS
        ]
    return commands


def count(driver: str, built: artefacts.Artefacts, buffers: int = BUFFERS) -> dict[str, str]:
    """Boot a guest with this driver, and count instructions there.

    Return the text of each file in its /out, by name."""
    guest = guest_run.prepare(headers=built.headers, choice=driver)
    files = [(program(), "bin/cost")]
    if driver == "lanebox":
        files += [(host_record.program(), "bin/capture_cost"), *fio.ensure()]
    with BoardProcess(built.board) as board, contextlib.ExitStack() as disks:
        devices = []
        for number, size in enumerate((DISK_BYTES, host_record.DISK_BYTES)):
            disk = disks.enter_context(tempfile.NamedTemporaryFile())
            disk.truncate(size)
            devices += ["-drive", f"file={disk.name},if=none,id=disk{number},format=raw"]
            devices += ["-device", f"nvme,drive=disk{number},serial={number}"]
        result = guest_run.run_guest(
            board.socket,
            commands(driver, built.gateware, buffers),
            files,
            guest=guest,
            timeout=SECONDS,
            icount=0,
            devices=tuple(devices),
            alive=board.gone,
            memory=MEMORY,
            logs=[("the board's log", board.log)],
        )
    if result.rc:
        raise TestFailed(f"counting with the driver {driver}: {result.console[-2000:]}")
    return {name: data.decode(errors="replace") for name, data in result.files.items()}


class Counted:
    """Costs of one driver for the host: instructions, system calls, copied bytes, a wake-up.

    The first three are from the output of the guest's program `cost`. The instructions of a wake-up
    are from the kernel's trace."""

    def __init__(self, texts: dict[str, str]):
        self.texts = texts
        clock = self._one("clock", "")
        if abs(float(clock["loop"]) - 1) > CLOCK_ERROR:
            raise TestFailed(
                f"a loop of known length takes {clock['loop']} of its instructions: the guest's "
                "clock does not count them."
            )
        self.nothing, self.idle = int(clock["nothing"]), int(clock["idle_second"])

    def _all(self, kind: str, name: str) -> list[dict[str, str]]:
        lines = re.findall(rf"^{kind} ?{name} (.*)$", self.texts["cost"], re.MULTILINE)
        if not lines:
            raise TestFailed(f"nothing was counted for {kind} {name}")
        return [dict(re.findall(r"(\w+)=([\d.]+)", line)) for line in lines]

    def _one(self, kind: str, name: str) -> dict[str, str]:
        return self._all(kind, name)[0]

    def instructions(self, found: dict[str, str]) -> float:
        """Return the number of instructions for each gigabyte in a line of `cost`. Those of the
        measurement itself and of an idle guest are subtracted."""
        idle = self.idle * int(found["nanoseconds"]) / 1e9
        used = int(found["instructions"]) - self.nothing - idle
        return used / int(found["bytes"]) * GIGABYTE

    def taking(self, way: str) -> float:
        """Return the median number of instructions for each gigabyte that a program takes in this
        way, one of WAYS.

        Waiting for data is included. Raises TestFailed if the program may have slept while nobody
        counted.
        """
        found = self._all("cost", way)
        for line in found:
            most = line.get("most", "an unknown number of")
            if not most.isdigit() or not 0 < int(most) <= numbers.STOCK_BUFFERS:
                raise TestFailed(
                    f"cost {way}: it found {most} buffers at once, and the ring has "
                    f"{numbers.STOCK_BUFFERS}. It slept where nobody counted."
                )
        return statistics.median(map(self.instructions, found))

    def calls(self, way: str) -> tuple[float, float]:
        """Return (number of system calls, bytes that they copied) for each gigabyte that a program
        takes in this way."""
        found = self._one("calls", way)
        scale = GIGABYTE / int(found["bytes"])
        return int(found["calls"]) * scale, int(found["copied"]) * scale

    def disk(self, name: str) -> list[dict[str, str]]:
        """Return the fields of every line `disk NAME ...` that the guest's program `cost` printed
        for this name.

        Each line is about one write of the whole disk.
        """
        return self._all("disk", name)

    def wakeup(self) -> float:
        """Return the median number of instructions from the interrupt handler's entry to poll()'s
        end.

        Most of them are the kernel's own: it wakes the program, starts its tick again and switches
        to the program. A driver whose handler and poll() took no instruction would reach 0.954 of
        the 5428 instructions of LitePCIe's driver. A driver that only clears the cause, reads the
        count and wakes the program, with no lock and no check, reaches 0.962."""
        events = re.findall(r" (\d+): (irq_handler_entry|sys_exit)", self.texts["trace"])
        pairs = zip(events, events[1:])
        took = [int(b[0]) - int(a[0]) for a, b in pairs if a[1] != b[1] and b[1] == "sys_exit"]
        if not took:
            raise TestFailed("the trace holds no interrupt that woke poll()")
        return statistics.median(took)


def rows(ours: Counted, stock: Counted) -> list[Row]:
    """Return all benchmark rows.

    A row that LitePCIe's driver has, too, has the ratio to its value."""
    found = [
        _compared(
            f"host/insn_per_gb/{way}",
            "insn/GB",
            ours.taking(way),
            stock.taking(way),
            path=f"{path}; waiting included",
        )
        for way, path in WAYS.items()
    ]
    found += [
        _compared(
            "host/wakeup_insn",
            "insn",
            ours.wakeup(),
            stock.wakeup(),
            path="interrupt handler to return from poll()",
        ),
        *_without_calls(ours, stock),
        *o_direct(ours),
        recorder(ours),
    ]
    return found + [ladder(ours, rung) for rung in ours.disk("bounce") + ours.disk("direct")]


def _without_calls(ours: Counted, stock: Counted) -> list[Row]:
    """Return two rows: the number of system calls, and the number of copied bytes, for each
    gigabyte taken.

    The values are those of our driver's fastest way, polling the index page. The conditions of the
    rows have the values of other ways.
    """
    calls, copied = ours.calls(SPINNING)
    others = {way: ours.calls(way)[0] for way in WAYS}
    path = "index page, looked at again and again: it never sleeps"
    return [
        row(
            "host/syscalls_per_gb",
            calls,
            "/GB",
            conditions={"path": path, "stock": stock.calls("abi")[0], "that_sleep": others},
        ),
        row(
            "host/copied_per_gb",
            copied,
            "B/GB",
            conditions={"path": path, "stock_read": stock.calls("read")[1]},
        ),
    ]


def _compared(name: str, unit: str, value: float, stock: float, **conditions) -> Row:
    conditions |= {"stock": stock, "buffer": numbers.STOCK_BUFFER_SIZE}
    conditions["buffers_per_interrupt"] = numbers.STOCK_BUFFERS_PER_INTERRUPT
    return row(name, value, unit, vs=value / stock, conditions=conditions)


def _whole(ours: Counted, turns: list[dict[str, str]]) -> tuple[float, float]:
    """Return (median of the instructions for each gigabyte written, median of the rates in MB/s)
    over several writes of the whole ring to the disk."""
    rates = [int(turn["bytes"]) / int(turn["nanoseconds"]) * 1e3 for turn in turns]
    return statistics.median(map(ours.instructions, turns)), statistics.median(rates)


def _further(ours: Counted, turns: list[dict[str, str]]) -> float:
    """Return the number of instructions for each gigabyte that fio writes, computed from short and
    long runs.

    Only the bytes and instructions that a long run has more than a short one are counted. So the
    cost of fio's start is not in the result. Raises TestFailed if all runs have one length.
    """

    def of(number: str, size: int) -> float:
        return statistics.median(
            float(turn[number]) for turn in turns if int(turn["bytes"]) == size
        )

    sizes = {int(turn["bytes"]) for turn in turns}
    short, long = min(sizes), max(sizes)
    if short == long:
        raise TestFailed(f"fio wrote {short} bytes each time: its start cannot be taken off.")
    idle = ours.idle * (of("nanoseconds", long) - of("nanoseconds", short)) / 1e9
    used = of("instructions", long) - of("instructions", short) - idle
    return used / (long - short) * GIGABYTE


def _fio_rate(terse: str) -> float:
    """Return the rate of writing in MB/s that fio reports in its terse format, version 3."""
    return int(terse.split(";")[FIO_WRITE_RATE]) * 1024 / 1e6


def o_direct(ours: Counted) -> list[Row]:
    """Return the rows of a filled ring written to a disk with O_DIRECT.

    They are compared with fio, which writes anonymous memory of the same size. Instructions are
    compared. The speed of a simulated disk says nothing, so it is only noted. The first row has
    pages of 4 KiB on both sides: the driver maps its ring with such pages, and fio's memory is kept
    at that size. The second row has huge pages on both sides, so that the kernel pins fewer pages:
    here the program allocates the ring's memory itself."""
    found = []
    for kind, peer, name in O_DIRECT:
        ring = _whole(ours, ours.disk(kind))
        cost, rate = _further(ours, ours.disk(peer)), _fio_rate(ours.texts[peer])
        conditions = {
            "peer": "fio, psync, 1 MiB",
            "pages": "2 MiB" if kind == "own" else "4 KiB",
            "insn_per_gb": {"ring": ring[0], "fio": cost},
            "live_mb_per_s": {"ring": ring[1], "fio": rate},
        }
        limit = Limit(1.0, "simulator")
        found.append(row(name, cost / ring[0], "of fio's", limit, conditions=conditions))
    return found


def recorder(ours: Counted) -> Row:
    """Return the row of the recorder of packets beside fio, which writes as much to the same disk.

    Raises TestFailed if the recorder has not written as it should: by io_uring, from registered
    memory, past the page cache."""
    ways = set(re.findall(r"io_uring (\d) fixed (\d) direct (\d)", ours.texts["cost"]))
    if ways != {("1", "1", "1")}:
        raise TestFailed(f"the recorder wrote by (io_uring, fixed, direct) = {ways or 'no way'}")
    cost = {name: _further(ours, ours.disk(name)) for name in ("recorder", "fio_record")}
    conditions = {
        "peer": f"fio, io_uring, 1 MiB, depth {host_record.DEPTH}, batches of {host_record.BATCH}",
        "pages": "4 KiB",
        "insn_per_gb": cost,
    }
    ratio = cost["fio_record"] / cost["recorder"]
    return row(host_record.NAME, ratio, "of fio's", Limit(1.0, "simulator"), conditions=conditions)


def ladder(ours: Counted, rung: dict[str, str]) -> Row:
    """Return the benchmark row of one way in which the guest's program writes the ring to a disk.

    The row's id says whether the data goes through a bounce buffer or directly, the bytes of a
    write in KiB, and the number of threads. The value is the number of instructions for each
    gigabyte.
    """
    bounce = rung in ours.disk("bounce")
    size = f"{int(rung['chunk']) >> 10}K"
    name = f"host/ladder/{'bounce' if bounce else 'direct'}/{size}/x{rung['threads']}"
    rate = int(rung["bytes"]) / int(rung["nanoseconds"]) * 1e3
    conditions = {"live_mb_per_s": rate, "binds": "simulator"}
    return row(name, ours.instructions(rung), "insn/GB", conditions=conditions)


def measure(progress: Callable[[str], object] = lambda text: None) -> list[Row]:
    """Count instructions with our driver and with LitePCIe's, in one guest each.

    Return every benchmark row."""
    built = artefacts.build(DEFAULT)
    counted = {}
    for driver in DRIVERS:
        progress(f"counting with the driver {driver}")
        counted[driver] = Counted(count(driver, built))
    return rows(counted["lanebox"], counted["stock"])


def main() -> int:
    """Measure the host's cost, print the table and merge the rows into the results.

    Return the exit status."""
    try:
        found = measure(lambda text: print(text, file=sys.stderr, flush=True))
    except (SimError, SetupError, StepError, GuestError) as error:
        print(f"host: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("host: interrupted, nothing was recorded", file=sys.stderr)
        return 130
    merge(found)
    print(table(found))
    print(f"\nrecorded in {RESULTS.relative_to(artefacts.ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
