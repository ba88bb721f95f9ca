# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run the programs of software/examples on a card, by each way that a program can reach it.

The programs in C are built with the README's compiler line. All runs use one card, whose user slot
sends back what it gets, and raises an interrupt for each write to its memory. The first way is the
board alone (sim). The other two use one guest: first through the driver, then through VFIO, with
the card bound to vfio-pci.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from gateware import numbers
from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.examples import AXI50
from sim.guest import run
from sim.test.board.board_builds import ROOT
from sim.test.guest import guest_python
from sim.test.guest.guest_line import SHELL, GuestLine
from sim.test.util.user_guest import BIND, IOMMU, boot
from tools.locks import locked

EXAMPLES = ROOT / "software" / "examples"
README = EXAMPLES / "README.md"
PYTHON = ROOT / "software" / "python"
BUILD = ROOT / "build" / "test-examples"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
LANGUAGES = ("c", "python")

# Amounts of the examples: MiB of a capture, requests, lines of a spectrum, interrupts. The ring of
# a capture has 4 MiB, so that 5 MiB make it wrap around.
MIB, REQUESTS, LINES, INTERRUPTS = 5, 100, 5, 3
BELL = f"2:{numbers.AXI_BASE:#x}"
SCRATCH = {"c": 0xCAFE0001, "python": 0xCAFE0002}
DISK = "/dev/nvme0n1"
SECONDS = 60
# Seconds that the examples may take in a guest. An idle machine takes a tenth of this.
GUEST_SECONDS = 600


@dataclass(frozen=True)
class Ran:
    """The end of one run of an example program, and what the board counted during the run."""

    status: int
    out: str
    err: str
    passed: dict[str, int]  # bytes of h2c, bytes of c2h and interrupts, as the board counted them
    sum: str = ""  # SHA-256 of the data that the example wrote to a disk


def plan(language: str, file: str, csr: str) -> dict[str, list[str]]:
    """Return {name of a run of an example: its words on the command line, without the device}."""
    scratch = f"ctrl_scratch={SCRATCH[language]:#x}"
    return {
        "capture": ["capture", "-n", str(MIB), file],
        "request": ["request", "-n", str(REQUESTS)],
        "spectrum": ["spectrum", "-n", str(LINES)],
        "registers": ["registers", "-c", csr, scratch, "user_hold=1", "user_hold=0", "user_hold"],
        "list": ["registers", "-c", csr],
        "interrupt": ["interrupt", "-n", str(INTERRUPTS), "-w", BELL],
    }


@functools.cache
def installed() -> Path:
    """Install the library by `make install`; returns the install prefix."""
    out = artefacts.library().parent
    command = [
        "make",
        "-s",
        "-C",
        ROOT / "software",
        f"OUT={out}",
        "DESTDIR=",
        f"PREFIX={BUILD / 'usr'}",
        "install",
    ]
    with locked(out.with_suffix(".lock")):
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return BUILD / "usr"


def words_of_pkg_config(prefix: Path) -> str:
    """Return the compiler flags in the installed liblitepcie.pc.

    pkg-config is not used, since a machine may not have it.
    """
    text = (prefix / "lib" / "pkgconfig" / "liblitepcie.pc").read_text()
    flags = " ".join(re.findall(r"^(?:Cflags|Libs|Libs\.private): (.*)$", text, re.MULTILINE))
    places = {"includedir": prefix / "include", "libdir": prefix / "lib"}
    return re.sub(r"\$\{(\w+)\}", lambda found: str(places[found[1]]), flags)


@functools.cache
def program(name: str, *options: str) -> Path:
    """Build an example in C by the compiler line of software/examples/README.md and `options`;
    returns its path."""
    prefix = installed()
    (line,) = re.findall(r"^cc .*$", README.read_text(), re.MULTILINE)
    line, count = re.subn(r"\$\(pkg-config [^)]*\)", words_of_pkg_config(prefix), line)
    words = shlex.split(line.replace("request", name))
    out = BUILD / ("static" if "-static" in options else "shared") / name
    assert count == 1 and words[words.index("-o") + 1] == name
    words[words.index("-o") + 1] = str(out)
    out.parent.mkdir(exist_ok=True)
    with locked(BUILD.with_suffix(".lock")):
        done = subprocess.run(
            [*words, *WARNINGS, *options], cwd=ROOT, capture_output=True, text=True
        )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return out


def command(language: str, name: str) -> list[str]:
    """Return the command line that starts an example on this machine, without a guest."""
    if language == "python":
        return [sys.executable, str(EXAMPLES / f"{name}.py")]
    return [str(program(name, f"-Wl,-rpath,{installed() / 'lib'}"))]


def environment() -> dict[str, str]:
    """Return the environment variables that the examples in Python need."""
    library = installed() / "lib" / "liblitepcie.so"
    return {**os.environ, "PYTHONPATH": str(PYTHON), "LIBLITEPCIE": str(library)}


def call(language: str, name: str, *words: str | Path) -> subprocess.CompletedProcess:
    """Run an example on this machine and wait for its end."""
    return subprocess.run(
        [*command(language, name), *map(str, words)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


# Runs of an example -------------------------------------------------------------------------------


@functools.cache
def built():
    """Build the gateware and board on which all examples run."""
    return artefacts.build(DEFAULT, AXI50)


def counts(board: BoardProcess) -> dict[str, int]:
    """Return the board's counts so far. Fails if a TLP went to unmapped memory, or if a rule was
    broken."""
    stats = board.stats()
    assert stats["unmapped"] == 0 and not stats["violations"], stats
    return {
        "h2c": stats["rc"]["payload_bytes"],
        "c2h": stats["rq"]["payload_bytes"],
        "interrupts": stats["msi"],
    }


def passed(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Return by how much each count of the board grew between two results of counts()."""
    return {name: after[name] - before[name] for name in after}


def on_the_board(board: BoardProcess, language: str, folder: Path) -> dict[str, Ran]:
    """Run each example on the board over vfio-user, without a guest."""
    found = {}
    csr = str(built().gateware / "csr.json")
    for name, words in plan(language, str(folder / language), csr).items():
        before = counts(board)
        done = call(language, words[0], "-d", f"sim:{board.socket}", *words[1:])
        found[name] = Ran(done.returncode, done.stdout, done.stderr, passed(before, counts(board)))
    return found


# The function start() of this text runs a Python program as if it had been started from the command
# line.
START = """
import os, sys, traceback

def start(path, words):
    sys.argv = [path, *words]
    exec(compile(open(path).read(), path, "exec"), {"__name__": "__main__"})
"""
# In the guest, each run of an example in Python is a fork of one interpreter, so that NumPy is
# loaded only once.
SERVER = (
    START
    + """
import numpy.fft, lanebox_host, example
begin, ended = open("/tmp/begin"), open("/tmp/ended", "w")  # as the shell opens them
print("up", file=ended, flush=True)
for line in begin:
    label, name, *words = line.split()
    child = os.fork()
    if not child:
        for number, end in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"/out/{label}.{end}", os.O_WRONLY | os.O_CREAT, 0o644), number)
        start(f"/examples/{name}.py", words)
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=ended, flush=True)
"""
)
# Shell functions of the guest. `example LABEL PROGRAM WORDS...` runs an example, and leaves its
# output and exit status in /out.
FUNCTIONS = f"""
mkfifo /tmp/begin /tmp/ended
export LIBLITEPCIE=/examples/liblitepcie.so OPENBLAS_NUM_THREADS=1
{guest_python.COMMAND} /examples/server.py &
exec 4>/tmp/begin 5</tmp/ended
read -r up <&5
example() {{
	ask count
	label=$1; name=$2; shift 2
	case $label in
	*python*) echo $label $name "$@" >&4; read -r status <&5 ;;
	*) status=0; /examples/$name "$@" >/out/$label.out 2>/out/$label.err || status=$? ;;
	esac
	echo $status >/out/$label.status
	ask count
}}
clear_disk() {{ dd if=/dev/zero of={DISK} bs=1M count={MIB} conv=fsync 2>/dev/null; }}
sum_disk() {{ head -c {MIB << 20} {DISK} | sha256sum >/out/$1.sum; }}
"""
UNBIND = "echo 0000:01:00.0 >/sys/bus/pci/drivers/litepcie/unbind"
DEVICES = {"driver": ("/dev/litepcie0", []), "vfio": ("vfio:0000:01:00.0", [UNBIND, BIND])}


def script() -> tuple[list[str], list[str]]:
    """Return (commands by which a guest runs all examples, labels of the runs in their order)."""
    commands, labels = [SHELL, FUNCTIONS], []
    for way, (device, before) in DEVICES.items():
        commands += before
        for language in LANGUAGES:
            for name, words in plan(language, DISK, "/root/csr.json").items():
                label = f"{way}.{language}.{name}"
                line = f"example {label} {words[0]} -d {device} {' '.join(words[1:])}"
                writes = DISK in words
                commands += ["clear_disk", line, f"sum_disk {label}"] if writes else [line]
                labels.append(label)
    return commands, labels


def all_in_python(folder: Path, device: str) -> str:
    """Return the text of a program that runs all examples in Python. The modules that it loads are
    those that the guest needs."""
    csr = str(built().gateware / "csr.json")
    every = plan("python", str(folder / "file"), csr).values()
    calls = [
        f"start({str(EXAMPLES / words[0])!r} + '.py', {['-d', device, *words[1:]]})"
        for words in every
    ]
    silence = "sys.stdout = open(os.devnull, 'w')"
    return "\n".join([START, f"sys.path.append({str(EXAMPLES)!r})", silence, *calls])


def guest_files(folder: Path) -> list[tuple[Path | bytes, str]]:
    """Return the examples in C and Python and the library, as (file, path in the guest)."""
    names = {words[0] for words in plan("c", "", "").values()}
    pairs = [(program(name, "-static"), f"examples/{name}") for name in names]
    pairs += [(EXAMPLES / f"{name}.py", f"examples/{name}.py") for name in names]
    pairs.append((SERVER.encode(), "examples/server.py"))
    pairs.append((installed() / "lib" / "liblitepcie.so", "examples/liblitepcie.so"))
    with BoardProcess(built().board) as board:
        text = all_in_python(folder, f"sim:{board.socket}")
        return pairs + guest_python.files(text, environment())


def in_a_guest(folder: Path) -> dict[tuple[str, str, str], Ran]:
    """Run each example by driver and by VFIO in one guest; returns {(way, language, name):
    result}."""
    commands, labels = script()
    disk, seen = folder / "disk", []
    disk.write_bytes(bytes(MIB << 20))
    devices = (
        "-drive",
        f"file={disk},if=none,id=disk,format=raw",
        "-device",
        "nvme,drive=disk,serial=1",
        *IOMMU,
    )
    files, guest, card = guest_files(folder), run.prepare(), built()
    with BoardProcess(card.board) as board:
        with GuestLine({"count": lambda: seen.append(counts(board))}) as line:
            files = boot(
                board,
                commands,
                files=files,
                guest=guest,
                append=("intel_iommu=on",),
                devices=(*devices, *line.devices),
                csr=card.gateware / "csr.json",
                timeout=GUEST_SECONDS,
            ).files
    found = {}
    for label, before, after in zip(labels, seen[::2], seen[1::2]):
        texts = {
            end: files.get(f"{label}.{end}", b"").decode()
            for end in ("status", "out", "err", "sum")
        }
        found[tuple(label.split("."))] = Ran(
            int(texts["status"]),
            texts["out"],
            texts["err"],
            passed(before, after),
            texts["sum"].partition(" ")[0],
        )
    return found
