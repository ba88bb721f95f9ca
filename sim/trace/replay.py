# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Plays the host's side of a recorded trace to a board and compares what the card does.

    python -m sim.trace.replay FILE.pcapng [--mps 256] [--mrrs 512] [--ignore device_time]

The host's requests (CQ) are made again in their order. Each waits until the card has made as many
requests as it had made before this one in the trace. Memory holds the data that the card read (RC).
Compared: every completion (CC), the card's reads and its writes with their data, each in order, and
the number of interrupts. Not compared: times, and how reads, writes and completions interleave. A
free-running ring cannot be replayed: the host's software refills it, which no TLP shows. `--ignore`
names registers whose values depend on time, by prefixes of their names. Exit status: 0 the same, 1
not."""

from __future__ import annotations

import argparse
import json
import mmap
import os
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from gateware import numbers
from sim import artefacts
from sim.board.process import BoardProcess
from sim.clients.vfio import BAR0, CONFIG, SIZE_FIELDS, VfioClient
from sim.endpoints import DEFAULT
from sim.errors import SimError
from sim.trace.host_memory import HostMemory
from sim.trace.pcapng import TraceError
from sim.trace.tlp import Tlp, load, matched

BAR0_BYTES = numbers.BAR0_SIZE
BAR0_REGISTER, COMMAND, CAPABILITIES = 0x10, 0x04, 0x34
CAP_MSI, CAP_EXPRESS = 0x05, 0x10
# The card may take this many seconds of wall time until its next request or interrupt.
PATIENCE = 5
SHOWN = 5  # the most differences between recording and replay that are printed


@dataclass(frozen=True)
class Access:
    """A host request of the trace: `offset` in BAR0 and `size`, both in bytes.

    `data` has the bytes of a write, and is None for a read. `before` is the number of TLPs that the
    card had sent on RQ before the request."""

    offset: int
    size: int
    data: bytes | None
    before: int


class Recorded:
    """A recorded trace of TLPs, with the values that its replay needs."""

    def __init__(self, path: Path):
        self.tlps = list(load(path))
        requests = [t for t in self.tlps if t.interface == "CQ"]
        if not requests:
            raise TraceError(f"{path} has no host requests: there is nothing to replay")
        self.bar0 = requests[0].address & -BAR0_BYTES
        self.memory = HostMemory(self.tlps)
        self.interrupts = sum(t.interface == "MSI" for t in self.tlps)
        self.accesses, self.card_requests = [], 0
        for tlp in self.tlps:
            self.card_requests += tlp.interface == "RQ"
            if tlp.interface == "CQ":
                self.accesses.append(self._access(tlp))

    def _access(self, tlp: Tlp) -> Access:
        enables = tlp.first_be | (tlp.last_be << 4 * (tlp.dwords - 1) if tlp.dwords > 1 else 0)
        first = (enables & -enables).bit_length() - 1
        size = enables.bit_length() - first
        whole = enables and tlp.dwords <= 2 and enables == ((1 << size) - 1) << first
        offset = tlp.address - self.bar0
        if tlp.kind == "other" or not whole or not 0 <= offset < BAR0_BYTES:
            raise TraceError(
                f"{tlp} at {tlp.ns} ns: a client of the board cannot make this request; it has "
                f"reads and writes of 1 to 8 adjacent bytes in BAR0 (0x{self.bar0:x})"
            )
        data = tlp.payload[first : first + size] if tlp.kind == "MWr" else None
        return Access(offset + first, size, data, self.card_requests)


# Playing a recorded trace -----------------------------------------------------------------------


class Host:
    """The host's side of the board in a replay. It makes the recorded requests again."""

    def __init__(self, board: BoardProcess, recorded: Recorded, mps: int, mrrs: int):
        self.board, self.recorded = board, recorded
        self.client = VfioClient(board.socket)
        self.seen = 0  # the TLPs that the card has sent on RQ, by the board's latest statistics
        for address, contents in recorded.memory.regions():
            self._map(address, contents)
        self._enumerate(mps, mrrs)

    def _map(self, address: int, contents: bytes) -> None:
        fd = os.memfd_create("lanebox-replay")
        try:
            os.ftruncate(fd, len(contents))
            with mmap.mmap(fd, len(contents)) as view:
                view[:] = contents
            self.client.map(address, len(contents), fd)
        finally:
            os.close(fd)

    def _config(self, offset: int, size: int, value: int | None = None) -> int:
        if value is not None:
            self.client.write(CONFIG, offset, value.to_bytes(size, "little"))
            return value
        return int.from_bytes(self.client.read(CONFIG, offset, size), "little")

    def _enumerate(self, mps: int, mrrs: int) -> None:
        self._config(BAR0_REGISTER, 4, self.recorded.bar0)
        at, capabilities = self._config(CAPABILITIES, 1), {}
        while at:
            capabilities[self._config(at, 1)] = at
            at = self._config(at + 1, 1)
        control = capabilities[CAP_EXPRESS] + 8
        sizes = (mps.bit_length() - 8) << 5 | (mrrs.bit_length() - 8) << 12
        self._config(control, 2, self._config(control, 2) & ~SIZE_FIELDS | sizes)
        if self.recorded.interrupts:
            message = capabilities[CAP_MSI] + 2
            self._config(message, 2, self._config(message, 2) | 1)
        self._config(COMMAND, 2, 0x6)  # This write to COMMAND enables memory space and bus master.

    def play(self) -> None:
        """Make the recorded host requests again.

        Each request waits until the card has sent as many TLPs as came before it in the trace."""
        for access in self.recorded.accesses:
            self.wait_for(access.before)
            if access.data is None:
                self.client.read(BAR0, access.offset, access.size)
            else:
                self.client.write(BAR0, access.offset, access.data, posted=True)
        # The board answers this read, so the board has taken all earlier posted writes.
        self.client.read(CONFIG, 0, 4)
        self.wait_for(self.recorded.card_requests, self.recorded.interrupts)

    def wait_for(self, requests: int, interrupts: int = 0) -> None:
        """Wait until the card has made this many requests and interrupts.

        The function also returns after PATIENCE seconds: the comparison then finds what is missing.
        """
        deadline = time.monotonic() + PATIENCE
        while self.seen < requests or interrupts:
            stats = self.board.stats()
            self.seen = stats["rq"]["tlps"]
            if self.seen >= requests and stats["msi"] + stats["msi_lost"] >= interrupts:
                return
            if time.monotonic() > deadline:
                return
            time.sleep(0.001)


def play(recorded: Recorded, executable: Path, mps: int, mrrs: int, options: list[str]):
    """Replay the trace to a new board with these options. Return the TLPs that it recorded."""
    with tempfile.TemporaryDirectory(prefix="lanebox-replay-") as directory:
        path = Path(directory) / "replay.pcapng"
        options = ["--rules", "warn", "--tlp-log", str(path), *options]
        with BoardProcess(executable, options) as board:
            host = Host(board, recorded, mps, mrrs)
            try:
                host.play()
            finally:
                host.client.close()
        return list(load(path))


# Comparing two traces ---------------------------------------------------------------------------


def card_side(tlps: list[Tlp], ignored: set[int]) -> dict[str, list[tuple]]:
    """Return the values of the card's TLPs that are compared, by kind.

    The data of reads from the bus addresses in `ignored` is left out."""
    found = defaultdict(list)
    for tlp, read in matched(tlps):
        if tlp.interface == "CC":
            address = read.request.address if read else None
            data = None if address in ignored else tlp.payload.hex()
            found["completion"].append((address, tlp.status, tlp.byte_count, tlp.address, data))
        elif tlp.interface == "RQ":
            shape = tlp.address, tlp.dwords, tlp.first_be, tlp.last_be
            found["read" if tlp.kind == "MRd" else "write"].append((*shape, tlp.payload.hex()))
        elif tlp.interface == "MSI":
            found["interrupt"].append(())
    return found


def differences(recorded: dict[str, list[tuple]], played: dict[str, list[tuple]]) -> list[str]:
    """Return a sentence for each difference between the recorded trace and the replay's."""
    found = []
    for kind in sorted({*recorded, *played}):
        old, new = recorded.get(kind, []), played.get(kind, [])
        for i, (a, b) in enumerate(zip(old, new)):
            if a != b:
                found.append(f"{kind} {i}: recorded {_show(a)}, now {_show(b)}")
        if len(old) != len(new):
            found.append(f"{kind}s: recorded {len(old)}, now {len(new)}")
    return found


def _show(fields: tuple) -> str:
    words = (f"0x{f:x}" if isinstance(f, int) else str(f) for f in fields)
    return " ".join(word if len(word) <= 40 else word[:40] + "..." for word in words)


def addresses(gateware: Path, prefixes: list[str], bar0: int) -> set[int]:
    """Return the bus addresses of all registers of the card whose names begin with one of
    `prefixes`."""
    registers = json.loads((gateware / "csr.json").read_text())["csr_registers"]
    found = set()
    for prefix in prefixes:
        named = [r for name, r in registers.items() if name.startswith(prefix)]
        if not named:
            raise TraceError(f"--ignore {prefix}: no register's name begins so (see csr.json)")
        found |= {bar0 + r["addr"] + 4 * i for r in named for i in range(r["size"])}
    return found


# The command line of the replay -----------------------------------------------------------------


def parse() -> argparse.Namespace:
    """Parse the command line and return its options."""
    parser = argparse.ArgumentParser(
        prog="python -m sim.trace.replay",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("file", type=Path, help="a trace in pcapng, recorded from the board's start")
    add("--mps", type=int, choices=(128, 256, 512), default=256, help="as in the recording (256)")
    add("--mrrs", type=int, choices=(128, 256, 512), default=512, help="as in the recording (512)")
    add(
        "--ignore",
        action="append",
        default=[],
        metavar="NAME",
        help="do not compare what registers with such names hold; may be repeated",
    )
    add("--read-latency", metavar="NS", help="of the board: another one must change nothing")
    return parser.parse_args()


def run(args: argparse.Namespace) -> int:
    """Replay a trace on a new board and print the differences.

    Returns the exit status: 0 if both traces are the same, else 1."""
    recorded = Recorded(args.file)
    built = artefacts.build(DEFAULT)
    ignored = addresses(built.gateware, args.ignore, recorded.bar0)
    options = ["--read-latency", args.read_latency] if args.read_latency else []
    played = play(recorded, built.board, args.mps, args.mrrs, options)
    old, new = card_side(recorded.tlps, ignored), card_side(played, ignored)
    found = differences(old, new)
    compared = ", ".join(f"{len(old[kind])} {kind}s" for kind in sorted(old)) or "nothing"
    print(f"replayed {len(recorded.accesses)} host requests; compared {compared}")
    for line in found[:SHOWN]:
        print(f"  {line}")
    print(f"differences: {len(found)}")
    return 1 if found else 0


def main() -> int:
    """Replay a trace as the command line asks. Return the exit status."""
    try:
        return run(parse())
    except (SimError, OSError) as error:
        print(f"replay: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
