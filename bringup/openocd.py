# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Find OpenOCD and its cables, run openocd.tcl, and turn each cause of failure into a message.

This module needs only Python's standard library. A run of OpenOCD is stopped if it prints nothing
for too long. An interrupted run leaves no process and no file behind.
"""

import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from bringup.bitstream import IDCODES, part_name, scan_value

HERE    = Path(__file__).parent
SCRIPT  = HERE/"openocd.tcl"
FLASH   = HERE/"flash.tcl"
# The folder in which Debian's package of OpenOCD keeps its scripts, among them the files of cables.
SCRIPTS = Path("/usr/share/openocd/scripts")
CABLE   = "digilent-hs2"
# Frequency of TCK in kHz if --cable-speed gives none. Cheap cables and short wires can reach it.
SPEED   = 6000
# Seconds that OpenOCD gets to end after SIGTERM, before it is killed. It does not react in the
# middle of a scan.
GRACE   = 1
SILENCE = 30 # If OpenOCD prints nothing for this many seconds, it is stopped as hanging.

# Bytes of a bitstream that are one number in OpenOCD's `drscan`. OpenOCD's time to parse a number
# grows with the square of its length.
FIELD = 128
# Numbers of FIELD bytes in one JTAG scan. So a scan has 8 KiB, and progress is shown after each
# scan.
PIECE = 64
PAGE  = 256 # Bytes that the configuration flash takes in one page program command.

class ProgramError(RuntimeError):
    """Raised if the part was not programmed, or did not start. The message says why, and what to
    do.
    """

# OpenOCD's program and its cable files ------------------------------------------------------------

def find_openocd():
    """Return the path of the program OpenOCD, which LANEBOX_OPENOCD or PATH names."""
    found = shutil.which(os.environ.get("LANEBOX_OPENOCD") or "openocd")
    if not found:
        raise ProgramError("OpenOCD is not installed: `apt-get install openocd` (the package is "
            "called openocd), or use `--programmer openFPGALoader`")
    return found

def find_cable(name):
    """Return the path of the OpenOCD interface file for `--cable`: a file of the user, or one that
    OpenOCD has.
    """
    if Path(name).suffix == ".cfg" or "/" in name:
        if not Path(name).is_file():
            raise ProgramError(f"--cable {name}: there is no such interface file")
        return str(Path(name).absolute())
    folder = Path(os.environ.get("OPENOCD_SCRIPTS") or SCRIPTS)/"interface"
    for found in (folder/"ftdi"/f"{name}.cfg", folder/f"{name}.cfg"):
        if found.is_file():
            return str(found)
    known = sorted(path.stem for path in (folder/"ftdi").glob("*.cfg"))
    near  = [stem for stem in known if name[:4] in stem] or known
    raise ProgramError(f"--cable {name}: OpenOCD has no interface file of that name in {folder}. "
        f"It has {', '.join(near)}; a path to a .cfg file will do as well")

# Errors of OpenOCD and of its script --------------------------------------------------------------

# Messages for the errors that the script openocd.tcl reports, by the name of the error. {0} stands
# for the remaining words of the report.
REFUSALS = {
    "absent":   "{cable}: the cable is there, but no part answers on it: is the card powered, and "
                "the JTAG header plugged in the right way round? Nothing was programmed",
    "wrong":    "{cable}: the part on the cable is {0}, not the board's {part}. Nothing was "
                "programmed",
    "several":  "{cable}: {0} parts are on the chain; this card has one. Nothing was programmed",
    "no_init":  "the part does not come back from its reset (status {0}): its configuration is "
                "gone, and the new one was not sent. Is its supply sound?",
    "crc":      "the part finds the bitstream wrong (CRC error, status {0}): the cable drops bits. "
                "Try --cable-speed 1000",
    "id":       "the part refuses the bitstream: it is for another IDCODE (status {0})",
    "no_start": "the part took the bitstream but did not start (status {0}): try again, or with "
                "--cable-speed 1000",
    "saying":   "{0}",
}

# Messages for errors of the program OpenOCD itself, before the script openocd.tcl runs, as pairs
# (pattern in OpenOCD's output, message).
BEGINNINGS = (
    (r"LIBUSB_ERROR_ACCESS|Permission denied", "{cable}: the cable is there, but this user may not "
        "open it: log in again after `usermod -aG plugdev`, or run as root"),
    (r"unable to open|no device found|Failed to connect|Connection refused|libusb_open|"
        r"libusb_init|No J-Link device|could not open|not find", "{cable}: no such cable is "
        "plugged in; `--cable` names another one"),
)

def _reason(cable, part, said, log):
    for kind, *words in said:
        if kind == "error":
            cause, *more = words
            more = [part_name(int(more[0], 0))] if cause == "wrong" else [" ".join(more)]
            return REFUSALS[cause].format(*more, cable=cable, part=part)
    text = "\n".join(log)
    for pattern, sentence in BEGINNINGS:
        if re.search(pattern, text):
            return sentence.format(cable=cable) + ". Nothing was programmed"
    return "OpenOCD failed:\n" + "\n".join(log[-10:])

# Running OpenOCD ----------------------------------------------------------------------------------

def _lines(process, silence):
    """Yield the output of a process line by line.

    Raise ProgramError if the process prints nothing for `silence` seconds.
    """
    rest = b""
    while True:
        if not select.select([process.stdout], [], [], silence)[0]:
            raise ProgramError(f"OpenOCD said nothing for {silence} s and was stopped: the cable "
                "does not answer. Unplug it, plug it in again, and repeat")
        more = os.read(process.stdout.fileno(), 1 << 16)
        if not more:
            return
        *whole, rest = (rest + more).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)

def _stop(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    process.stdout.close()

def run(board, cable, speed, settings, commands, note=lambda *words: None, silence=SILENCE,
        more=()):
    """Run `commands`, procedures of openocd.tcl, on the cable. Return the script's reports, each as
    a list of words.

    `note` is called with each report as soon as it comes. `more` are further scripts that OpenOCD
    sources. ProgramError is raised if OpenOCD or the script fails.
    """
    program = find_openocd()
    values  = {"idcode": f"{IDCODES[board.part]:#010x}", "speed": speed, **settings}
    command = [program, "-f", find_cable(cable)]
    command += ["-c", "; ".join(f"set {name} {{{value}}}" for name, value in values.items())]
    for script in (SCRIPT, *more):
        command += ["-f", str(script)]
    command += ["-c", "; ".join(["init", *commands, "shutdown"])]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
    except OSError as error:
        raise ProgramError(f"{program} cannot be started: {error.strerror}") from None
    said, log = [], []
    try:
        for line in _lines(process, silence):
            if line.startswith("lanebox: "):
                said.append(line.split()[1:])
                note(*said[-1])
            else:
                log.append(line)
        process.wait(silence)
    finally:
        _stop(process)
    if process.returncode or any(words[0] == "error" for words in said):
        raise ProgramError(_reason(cable, board.part, said, log))
    return said

def write_scans(data, file):
    """Write text for OpenOCD to `file`: scans that shift `data` into the part.

    Line 1 has the number of scans. Each further line is one scan.
    """
    pieces = [data[at:at + FIELD*PIECE] for at in range(0, len(data), FIELD*PIECE)]
    file.write(f"{len(pieces)}\n")
    for piece in pieces:
        fields = [piece[at:at + FIELD] for at in range(0, len(piece), FIELD)]
        file.write(" ".join(f"{8*len(field)} {scan_value(field)}" for field in fields) + "\n")
    file.flush()

def load_and(board, bitstream, settings, scripts, commands, cable, speed,
        note=lambda *words: None, silence=SILENCE):
    """Load the bitstream into the board's part, then run `commands` from `scripts`. Return all
    reports.
    """
    with tempfile.NamedTemporaryFile("w", prefix="lanebox-", suffix=".scans") as file:
        write_scans(bitstream.data, file)
        return run(board, cable, speed, {"scans": file.name, **settings},
            ["check_chain", "load_part", *commands], note, silence, scripts)

def load(board, bitstream, cable=CABLE, speed=SPEED, note=lambda *words: None, silence=SILENCE):
    """Load a bitstream into the board's part over JTAG. Raise ProgramError if the part has not
    started.
    """
    load_and(board, bitstream, {}, [], [], cable, speed, note, silence)

# Writing the configuration flash ------------------------------------------------------------------

def write_pages(data, first, file):
    """Write `data` to a text file as pages of the flash.

    The first line has the number of pages. Each further line has a page's address and its content.
    `first` is the address of the first page. The last page is filled up with 0xff.
    """
    data += b"\xff"*(-len(data)%PAGE)
    file.write(f"{len(data)//PAGE}\n")
    for at in range(0, len(data), PAGE):
        file.write(f"{first + at:#010x} {scan_value(data[at:at + PAGE])}\n")
    file.flush()

def write_flash(board, proxy, data, first, cable=CABLE, speed=SPEED, note=lambda *words: None,
        silence=SILENCE):
    """Load the bitstream `proxy` into the part, then write `data` to the flash and read it back.

    `first` is the address of the first byte in the flash.
    """
    with tempfile.NamedTemporaryFile("w", prefix="lanebox-", suffix=".pages") as file:
        write_pages(data, first, file)
        settings = {"pages": file.name, "first": first, "last": first + len(data) - 1}
        load_and(board, proxy, settings, [FLASH], ["write_flash"], cable, speed, note, silence)

# Progress of OpenOCD's script ---------------------------------------------------------------------

DOING = {"progress": "loading", "erased": "erasing", "wrote": "writing", "verified": "comparing"}

class Progress:
    """Print the script's reports as lines for a person.

    Progress is printed at each percent on a terminal, at every tenth percent elsewhere.
    """
    def __init__(self, stream):
        self.stream = stream
        self.shown  = None
        self.begun  = time.monotonic()

    def __call__(self, kind, *words):
        """Print a line for one report of openocd.tcl or flash.tcl: what was found, or the
        percentage of a step.
        """
        if kind == "part":
            print(f"part {part_name(int(words[0], 0))}", file=self.stream, flush=True)
        if kind in DOING:
            percent = 100*int(words[0])//int(words[1])
            step    = percent if self.stream.isatty() else percent - percent%10
            if (kind, step) != self.shown:
                end = "\r" if self.stream.isatty() and percent < 100 else "\n"
                print(f"{DOING[kind]} {step:3} %", end=end, file=self.stream, flush=True)
            self.shown = (kind, step)
        if kind == "flash":
            print(f"flash {words[0]}, {int(words[1]) >> 20} MiB", file=self.stream, flush=True)
        if kind == "started":
            seconds = time.monotonic() - self.begun
            print(f"started after {seconds:.1f} s, status {words[0]}", file=self.stream, flush=True)
