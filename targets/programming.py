# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""--load, --flash, --rescan and --driver: what is done with a build, card or no card.

Standard library only: a bitstream can be loaded on a machine that builds nothing.
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import openocd
from bitstream import IDCODES, REVISION, check_part, part_name, read_bitstream
from environment import ROOT
from openocd import ProgramError
from rescan import rescan
from vivado import DEVICE, VENDOR

PROGRAMMERS = ("openocd", "openFPGALoader")
PATIENCE    = 600 # Seconds for all of openFPGALoader's work, which tells no progress.

def add_options(parser):
    group = parser.add_argument_group("programmer options")
    group.add_argument("--programmer", default=PROGRAMMERS[0], choices=PROGRAMMERS,
        help="who speaks to the cable (default: openocd)")
    group.add_argument("--cable", metavar="NAME",
        help="an interface of OpenOCD's, or a .cfg file of your own; with openFPGALoader, a cable "
        f"of its (default: {openocd.CABLE})")
    group.add_argument("--cable-speed", type=int, default=openocd.SPEED, metavar="KHZ",
        help=f"clock of the cable (default: {openocd.SPEED})")
    group.add_argument("--bitstream", metavar="FILE",
        help="what to load, .bit or .bin (default: vivado/lanebox.bit in the output folder)")

# Load ---------------------------------------------------------------------------------------------

def find_bitstream(arguments):
    """The bitstream that was named, or else what --build left."""
    built = Path(arguments.output_dir)/"vivado"/"lanebox.bit"
    if not arguments.bitstream and not built.exists():
        raise ProgramError(f"there is no {built}: `{sys.argv[0]} --build` makes it where Vivado "
            "is; --bitstream names one from elsewhere")
    return read_bitstream(arguments.bitstream or built)

def load(board, arguments):
    bitstream = find_bitstream(arguments)
    check_part(bitstream, board)
    print(f"{bitstream.name}: {len(bitstream.data)} bytes for {part_name(bitstream.idcode)}",
        flush=True)
    if arguments.programmer == PROGRAMMERS[1]:
        load_by_openfpgaloader(board, bitstream.name, arguments)
    else:
        openocd.load(board, bitstream, arguments.cable or openocd.CABLE, arguments.cable_speed,
            openocd.Progress(sys.stdout))

def _openfpgaloader(arguments, *more):
    """Run openFPGALoader on the cable; what it says."""
    program = shutil.which("openFPGALoader")
    if not program:
        raise ProgramError("openFPGALoader is not installed: `apt-get install openfpgaloader` (the "
            "package is called openfpgaloader), or use `--programmer openocd`")
    command = [program, "--cable", arguments.cable or openocd.CABLE.replace("-", "_"),
        "--freq", str(1000*arguments.cable_speed), *more]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE,
            stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise ProgramError(f"openFPGALoader was not done after {PATIENCE} s and was stopped") \
            from None
    text = done.stdout + done.stderr
    if done.returncode:
        raise ProgramError(f"`{shlex.join(command)}` failed with status {done.returncode}:\n"
            + "\n".join(text.strip().splitlines()[-5:]))
    return text

def load_by_openfpgaloader(board, filename, arguments):
    """The same with openFPGALoader, which is asked for the IDCODE before it may load."""
    found = re.findall(r"idcode\s+0x([0-9a-f]+)", _openfpgaloader(arguments, "--detect"))
    codes = [int(code, 16) for code in found]
    if [code & ~REVISION for code in codes] != [IDCODES[board.part]]:
        seen = " and ".join(map(part_name, codes)) or "no part"
        raise ProgramError(f"on the cable is {seen}, not one {board.part}. Nothing was programmed")
    _openfpgaloader(arguments, "--fpga-part", "".join(board.device.split("-")[:2]), "--bitstream",
        filename)
    print("loaded by openFPGALoader")

# Driver -------------------------------------------------------------------------------------------

def write_driver(output):
    """Driver and tools with the headers of this build, in the output folder."""
    folder = Path(output)/"driver"
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("kernel", "user"):
        shutil.copytree(ROOT/"software"/part, folder/"software"/part)
    shutil.copytree(Path(output)/"include", folder/"include")
    print(f"{folder}: driver and tools of this build:\n"
        f"  make -C {folder}/software/kernel\n"
        f"  make -C {folder}/software/user GENERATED={folder}/include OUT={folder}/tools")

# All of it ----------------------------------------------------------------------------------------

def program(board, arguments):
    """What was asked for, in the order in which it makes sense."""
    if arguments.load:
        load(board, arguments)
    if arguments.rescan:
        print("\n".join(rescan(VENDOR, DEVICE)))
