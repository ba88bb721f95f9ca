#!/usr/bin/env python3
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Boot a guest with the board at a socket, run commands in it, and bring back what they wrote.

Promises: QEMU, kernel and driver are fetched or built first if they are missing. The commands run
with the driver loaded, and with MPS and MRRS programmed as asked. Files that they leave in /out
come back byte for byte. The sizes that were programmed are reported. Nothing is left running. The
board must be listening already."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import shutil
import signal
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sim.guest import SetupError, driver, qemu, supervise
from sim.guest import kernel as guest_kernel
from sim.guest.folder import Folder
from sim.guest.initramfs import Initramfs
from sim.guest.kernel import Kernel
from sim.guest.machine import Machine
from sim.guest.packages import BUILD
from sim.guest.supervise import GuestError, GuestTimeout
from tools.progress import StepError
from tools.words import pair

HERE = Path(__file__).resolve().parent
PLACE = BUILD / "guest"

# Exit statuses of this program: after a time-out, and if the guest failed. All others are the
# commands' own.
TIMED_OUT, FAILED = 124, 125

MOTD = """
Lanebox guest, Linux {release}. The card is /dev/litepcie0:
`litepcie_util info` asks it. Leave with `exit`, which powers off, or at once
with Ctrl-A X.
"""
MOTD_FOLDER = """
/{place} is your folder {path}.
What changed in it comes back after `exit`, but not after Ctrl-A X.
"""


@dataclass(frozen=True)
class Guest:
    """The parts that any number of guest runs share: QEMU, kernel and driver. prepare() returns
    one."""

    qemu: Path
    kernel: Kernel
    module: Path | None  # The path of the driver litepcie.ko. None: the guest loads no driver.


@dataclass(frozen=True)
class Result:
    """The outcome of one run of commands in a guest."""

    # Exit status of the guest's commands. 125: the card or the driver failed before they ran.
    rc: int
    console: str
    files: dict[str, bytes]  # The files that the commands left in the guest's folder /out, by name.
    # The facts that the guest's init.sh found: kernel, card, id, mps, mrrs, port_mps, rc.
    facts: dict[str, str]
    seconds: float
    # Sentences for the user about the folder that came back from the guest (Folder.take_back).
    folder: tuple[str, ...] = ()

    @property
    def mps(self) -> int:
        """Return Max_Payload_Size in bytes, as set in the card's Device Control."""
        return int(self.facts["mps"])

    @property
    def mrrs(self) -> int:
        """Return Max_Read_Request_Size in bytes, as set in the card's Device Control."""
        return int(self.facts["mrrs"])

    def summary(self) -> str:
        """Return a line with the kernel, the card, its MPS and MRRS, and the seconds that the run
        took."""
        card = "no card"
        if "mps" in self.facts:
            card = f"card {self.facts['id']}, MPS {self.mps}, MRRS {self.mrrs}"
        linux = f"Linux {self.facts['kernel']}"
        return f"guest: {linux}, {card}, {self.seconds:.1f} s, status {self.rc}"


def prepare(
    kernel: str | None = None,
    headers: Path = driver.HEADERS,
    with_driver: bool = True,
    choice: str = driver.DRIVERS[0],
) -> Guest:
    """Fetch and build QEMU, kernel and driver for runs of a guest. Return where they are.

    `kernel` is a series such as "6.12", `choice` one of driver.DRIVERS. `headers` is the folder of
    the gateware's register headers, which only LitePCIe's driver needs."""
    program = qemu.ensure()
    chosen = guest_kernel.ensure(kernel)
    module = driver.ensure(chosen, headers, choice) if with_driver else None
    return Guest(program, chosen, module)


def run_guest(
    socket: Path | str | None,
    commands: str | Iterable[str] = (),
    files: Iterable[tuple[Path | str | bytes, str]] = (),
    *,
    guest: Guest | None = None,
    folder: Folder | None = None,
    more: Callable[[Initramfs], None] | None = None,
    timeout: float = 240,
    live: bool = False,
    interactive: bool = False,
    alive: Callable[[], str | None] | None = None,
    logs: Iterable[tuple[str, Path]] = (),
    powers_off: bool = True,
    **choices,
) -> Result:
    """Boot, run the commands, power off; raises SetupError before the start, GuestError after it.

    socket       path of the board's socket, or None for an empty slot
    commands     shell text; the first command that fails ends it, and its status is Result.rc
    files        pairs (host path or bytes, guest path); a host file keeps its permissions
    guest        from `prepare()`; None prepares with the defaults
    folder       a folder of the user's: copied in; what the guest changed in it is copied back
    more         called with the guest's root, to add whole trees such as Debian's programs
    live         relay the console to stdout
    interactive  a shell on this terminal after the commands, for as long as the user likes;
                 neither `timeout` nor `alive` end it
    alive        called about ten times a second; returns None, or a reason to give up
    logs         pairs (name, path) of logs whose last lines an error quotes, such as the board's
    powers_off   False: it is no failure if the guest has handed over its results and then does not
                 power off, as a guest that was suspended may
    choices      fields of `Machine`: mps, mrrs, memory, accel, icount, share, append"""
    machine = Machine(socket=None if socket is None else Path(socket), **choices)
    guest = guest or prepare()
    root = _root(guest, commands, files, folder)
    if more:
        more(root)
    with _workplace(logs) as work:
        root.write(work / "initramfs.cpio")
        if folder:
            disk = folder.disk(work / "folder.tar", machine.memory)
            machine = dataclasses.replace(machine, devices=(*machine.devices, *disk))
        started = time.monotonic()
        if interactive:
            console = _interact(machine, guest, work)
        else:
            argv = _argv(machine, guest, work, "stdio")
            with open(work / "qemu.log", "wb") as log:
                # With -icount one guest in eight sleeps for ever inside poweroff (QEMU 11.1.3). By
                # then it has handed over its results, so it need not power off.
                off = powers_off and machine.icount is None
                console = supervise.watch(argv, log, timeout, live, alive, must_power_off=off)
        seconds = time.monotonic() - started
        found = _results(work / "results.tar")
        if "guest" not in found and not interactive:
            raise GuestError("the guest ended without handing over its results", console)
        # If the user left QEMU with Ctrl-A X, the guest gave no results. That is no failure.
        facts = _facts(found.pop("guest", b"rc=0"))
        said = ()
        if folder:
            whole = facts.pop("folder", "") == "whole"
            said = tuple(folder.take_back(work / "folder.tar", whole, PLACE / "folder.tar"))
    text = console.decode(errors="replace").replace("\r\n", "\n")
    return Result(int(facts["rc"]), text, found, facts, seconds, said)


def _facts(text: bytes) -> dict[str, str]:
    """Return a dictionary made from the lines NAME=VALUE that the guest left."""
    return dict(map(pair, text.decode().splitlines()))


def _argv(machine: Machine, guest: Guest, work: Path, console: str, extra: tuple = ()) -> list:
    ends = (work / "initramfs.cpio", work / "results.tar")
    return [guest.qemu, "-serial", console, *machine.arguments(guest.kernel, *ends, extra)]


def _interact(machine: Machine, guest: Guest, work: Path) -> bytes:
    """Boot with this terminal as the console.

    Return b"", since the console's text is not recorded."""
    # The guest cannot ask a serial line for the size of the terminal, so the size is passed to it.
    size = shutil.get_terminal_size()
    extra = ("shell=1", f"rows={size.lines}", f"columns={size.columns}")
    with open(work / "qemu.log", "wb") as log:
        supervise.interact(_argv(machine, guest, work, "mon:stdio", extra), log)
    return b""


def _root(
    guest: Guest, commands: str | Iterable[str], files: Iterable, folder: Folder | None = None
) -> Initramfs:
    """Return the guest's root: busybox, init, the driver, the commands and the caller's files."""
    root = Initramfs()
    for name in ("dev", "proc", "sys", "tmp", "root", "out", "sbin"):
        root.directory(name)
    root.device("dev/console", 5, 1)
    root.device("dev/null", 1, 3, 0o666)
    root.file("bin/busybox", guest.kernel.busybox, 0o755)
    root.link("bin/sh", "busybox")
    root.file("init", HERE / "init.sh", 0o755)
    root.file("lib/pcie.sh", HERE / "pcie.sh")
    if guest.module:
        root.file("lib/modules/litepcie.ko", guest.module)
    motd = MOTD.format(release=guest.kernel.release)
    if folder:
        folder.put(root)
        motd += MOTD_FOLDER.format(place=folder.place, path=folder.path)
    root.file("etc/motd", motd)
    root.file("run.sh", (commands if isinstance(commands, str) else "\n".join(commands)) + "\n")
    for source, path in files:
        if not isinstance(source, bytes):
            source = Path(source)
            if not source.is_file():
                raise SetupError(f"{source}: there is no such file to take into the guest.")
        root.file(path, source)
    return root


@contextlib.contextmanager
def _workplace(logs: Iterable[tuple[str, Path]]) -> Iterator[Path]:
    """Make a folder for one run. After a failed run the folder is kept as build/guest/failed.

    Only the folder of the last failed run is kept."""
    PLACE.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="run-", dir=PLACE))
    try:
        yield work
    except GuestError as error:
        (work / "console.log").write_bytes(error.console)
        shown = [("QEMU's messages", work / "qemu.log"), *((n, Path(path)) for n, path in logs)]
        texts = [(name, path.read_bytes()) for name, path in shown if path.exists()]
        shutil.rmtree(PLACE / "failed", ignore_errors=True)
        # Another run may just have put its own folder there. This run's folder is then not kept.
        with contextlib.suppress(OSError):
            work.rename(PLACE / "failed")
        raise type(error)(error.reason, error.console, [t for t in texts if t[1]]) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _results(path: Path) -> dict[str, bytes]:
    """Return the files of the archive that came over the second serial port, by name.

    The result is {} if no archive came."""
    try:
        with tarfile.open(path) as archive:
            members = [member for member in archive if member.isfile()]
            return {m.name[len("./") :]: archive.extractfile(m).read() for m in members}
    except (OSError, tarfile.TarError):
        return {}


# The command line of this program -----------------------------------------------------------------


def file_pair(text: str) -> tuple[str, str]:
    """Return the path on the host and the path in the guest of an option value HOST:GUEST."""
    host, colon, guest = text.rpartition(":")
    if not (host and colon and guest):
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:GUEST, such as ./tool:bin/tool")
    return host, guest


def parser() -> argparse.ArgumentParser:
    """Return the parser of this program's command line."""
    result = argparse.ArgumentParser(
        prog="python -m sim.guest.run",
        description=__doc__.splitlines()[0],
        epilog=f"Exit status: the commands' own; {FAILED} when the guest could not be run, "
        f"{TIMED_OUT} when it took too long.",
    )
    add = result.add_argument
    add("--socket", help="the board's; without it the slot is empty")
    add("--command", action="append", default=[], help="to run in the guest (repeatable)")
    add(
        "--file",
        action="append",
        default=[],
        type=file_pair,
        metavar="HOST:GUEST",
        help="a file to take along (repeatable)",
    )
    add("--folder", type=Path, metavar="DIR", help="into /root, and what changed in it comes back")
    add("--out", type=Path, metavar="DIR", help="where to put what the commands left in /out")
    add("--interactive", action="store_true", help="a shell on this terminal after the commands")
    add("--prepare", action="store_true", help="only fetch and build what a run needs")
    add("--headers", type=Path, default=driver.HEADERS, help="with the gateware's csr.h")
    add("--no-driver", action="store_true", help="with neither driver")
    add(
        "--driver",
        choices=driver.DRIVERS,
        default=driver.DRIVERS[0],
        help="lanebox: ours (default); stock: LitePCIe's own",
    )
    add("--kernel", metavar="SERIES", help="6.1, 6.12 (default: $KERNEL, else the release's own)")
    add("--mps", type=int, default=256, help="Max_Payload_Size to program (default 256)")
    add("--mrrs", type=int, default=512, help="Max_Read_Request_Size to program (default 512)")
    add("--memory", type=int, default=512, metavar="MIB", help="the guest's (default 512)")
    add("--accel", choices=("tcg", "kvm"), default="tcg", help="default tcg")
    add("--icount", type=int, metavar="N", help="one guest instruction takes 2^N ns")
    add("--share", choices=("on", "off"), default="on", help="guest memory; off tests a board")
    add("--timeout", type=float, default=120, metavar="S", help="default 120")
    return result


def main(argv: list[str] | None = None) -> int:
    """Run commands in a guest, or a shell, as the command line asks. Return the exit status."""
    options = parser().parse_args(argv)
    # `timeout` and CI send SIGTERM. The program then ends as for Ctrl-C, so that the terminal is
    # restored.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return _main(options)
    except (SetupError, StepError, GuestError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return TIMED_OUT if isinstance(problem, GuestTimeout) else FAILED
    except KeyboardInterrupt:
        print("interrupted; nothing is left running", file=sys.stderr)
        return 128 + signal.SIGINT


def _main(options: argparse.Namespace) -> int:
    guest = prepare(options.kernel, options.headers, not options.no_driver, options.driver)
    if options.prepare:
        print(f"{guest.qemu}\n{guest.kernel.image} ({guest.kernel.version})\n{guest.module or '-'}")
        return 0
    names = ("mps", "mrrs", "memory", "accel", "icount")
    choices = {name: getattr(options, name) for name in names}
    choices.update(guest=guest, share=options.share == "on")
    folder = Folder(options.folder) if options.folder else None
    choices.update(timeout=options.timeout, interactive=options.interactive, live=True)
    result = run_guest(options.socket, options.command, options.file, folder=folder, **choices)
    if not options.interactive:
        print(result.summary(), file=sys.stderr)
    for sentence in result.folder:
        print(f"{options.folder}: {sentence}", file=sys.stderr)
    if options.out:
        for name, data in result.files.items():
            (options.out / name).parent.mkdir(parents=True, exist_ok=True)
            (options.out / name).write_bytes(data)
    return result.rc


if __name__ == "__main__":
    sys.exit(main())
