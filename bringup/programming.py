# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Carry out the options --detect, --load, --flash, --rescan and --driver of a board's target.

This module needs only Python's standard library, so a bitstream can be loaded on a machine that
cannot build one.
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from bringup import openocd
from bringup.bitstream import IDCODES, REVISION, check_part, part_name, read_bitstream
from bringup.openocd import ProgramError
from bringup.rescan import rescan
from gateware.numbers import FLASH_LAYOUT
from tools.environment import ROOT
from tools.vivado.run import APPLICATION, DEVICE, VENDOR

PROGRAMMERS = ("openocd", "openFPGALoader")
# A run of openFPGALoader is stopped after this many seconds. It reports no progress, so the limit
# is for the whole run.
PATIENCE    = 600

def add_options(parser):
    """Add the options for the JTAG programmer, the cable and the bitstream to the argparse parser
    `parser`.
    """
    group = parser.add_argument_group("programmer options")
    group.add_argument("--programmer", default=PROGRAMMERS[0], choices=PROGRAMMERS,
        help="who speaks to the cable (default: openocd)")
    group.add_argument("--cable", metavar="NAME",
        help="an interface of OpenOCD's, or a .cfg file of your own; with openFPGALoader, a cable "
        f"of its (default: {openocd.CABLE})")
    group.add_argument("--cable-speed", type=int, default=openocd.SPEED, metavar="KHZ",
        help=f"clock of the cable (default: {openocd.SPEED})")
    group.add_argument("--bitstream", metavar="FILE",
        help="what to load or to write, .bit or .bin (default: what --build left)")
    group.add_argument("--golden", action="store_true",
        help="with --flash: overwrite the golden image, which a card without another starts with")

# Loading the card over JTAG -----------------------------------------------------------------------

class NoVendor(ProgramError):
    """Raised if an action needs a file that only Vivado can make, and the file is missing."""

def find_bitstream(arguments, built):
    """Read and return the bitstream file that --bitstream names, or else `built`, the file that
    --build makes.
    """
    if not arguments.bitstream and not built.exists():
        raise ProgramError(f"there is no {built}: `{sys.argv[0]} --build` makes it where Vivado "
            "is; --bitstream names one from elsewhere")
    return read_bitstream(arguments.bitstream or built)

def load(board, arguments):
    """Load the bitstream into the card over JTAG. The card keeps it until it loses power.

    Raise ProgramError if that fails.
    """
    bitstream = find_bitstream(arguments, Path(arguments.output_dir)/"vivado"/"lanebox.bit")
    check_part(bitstream, board)
    print(f"{bitstream.name}: {len(bitstream.data)} bytes for {part_name(bitstream.idcode)}",
        flush=True)
    if arguments.programmer == PROGRAMMERS[1]:
        load_by_openfpgaloader(board, bitstream.name, arguments)
    else:
        openocd.load(board, bitstream, arguments.cable or openocd.CABLE, arguments.cable_speed,
            openocd.Progress(sys.stdout))

def _openfpgaloader(arguments, *more):
    """Run openFPGALoader with the arguments `more`, on the cable. Return what it printed."""
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
    """Load a bitstream with openFPGALoader, if it reports the board's part and no other on the
    cable.
    """
    found = re.findall(r"idcode\s+0x([0-9a-f]+)", _openfpgaloader(arguments, "--detect"))
    codes = [int(code, 16) for code in found]
    if [code & ~REVISION for code in codes] != [IDCODES[board.part]]:
        seen = " and ".join(map(part_name, codes)) or "no part"
        raise ProgramError(f"on the cable is {seen}, not one {board.part}. Nothing was programmed")
    _openfpgaloader(arguments, "--bitstream", filename)
    print("loaded by openFPGALoader")

# Writing the card's configuration flash -----------------------------------------------------------

# The first 16 MiB of the flash hold the golden image, from which the part starts. The golden image
# starts the application, which lies behind it. If the application does not start, the golden image
# stays loaded.
GOLDEN = 0
# A reboot begins in the last bytes of each image's room in the flash, so they stay erased.
MOST   = FLASH_LAYOUT["room"] - FLASH_LAYOUT["spare"]
PROXY        = "spi_proxy"

def find_image(arguments):
    """Return the bitstream to write and its address in the flash.

    The address is that of the application, or of the golden image if --golden was given.
    """
    name  = "lanebox_golden.bit" if arguments.golden else "lanebox_application.bit"
    first = GOLDEN if arguments.golden else APPLICATION
    built = Path(arguments.output_dir)/"vivado"/name
    image = find_bitstream(arguments, built)
    if len(image.data) > MOST:
        raise ProgramError(f"{image.name}: {len(image.data)} bytes, and golden image and "
            f"application have room for {MOST} each: it would run into what must stay erased for a "
            "reboot, or into the other image. Build it compressed")
    return image, first

def flash(board, arguments):
    """Write the bitstream to the card's configuration flash, and read it back.

    Raise ProgramError if that fails.
    """
    if arguments.programmer != PROGRAMMERS[0]:
        raise ProgramError("--flash is done with OpenOCD: openFPGALoader has a proxy of its own, "
            "and does not know which part of the flash is the golden image")
    image, first = find_image(arguments)
    check_part(image, board)
    proxy = Path(arguments.output_dir)/PROXY/"vivado"/f"{PROXY}.bit"
    if not proxy.exists():
        raise NoVendor(f"the flash is written through a design in the part, and its bitstream is "
            f"not there: {proxy}. Its netlist is all that can be made without Vivado; "
            f"`{sys.argv[0]} --build` makes the bitstream where that is. Until then a bitstream "
            "can be loaded, not kept: --load")
    loaded = read_bitstream(proxy)
    check_part(loaded, board)
    print(f"{image.name}: {len(image.data)} bytes to {first:#010x}", flush=True)
    openocd.write_flash(board, loaded, image.data, first, arguments.cable or openocd.CABLE,
        arguments.cable_speed, openocd.Progress(sys.stdout))
    print("written and compared. The part has the flash's proxy now: switch the card off and on")

# Sources of driver and tools ----------------------------------------------------------------------

def write_driver(output):
    """Copy the sources of driver and tools to the output folder, with the headers of this build."""
    folder = Path(output)/"driver"
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("kernel", "liblitepcie", "tools", "uapi"):
        shutil.copytree(ROOT/"software"/part, folder/"software"/part)
    shutil.copy(ROOT/"software"/"Makefile", folder/"software")
    shutil.copytree(Path(output)/"include", folder/"include")
    print(f"{folder}: driver and tools of this build:\n"
        f"  make -C {folder}/software/kernel\n"
        f"  make -C {folder}/software OUT={folder}/tools")

# All actions of the options -----------------------------------------------------------------------

def program(board, arguments):
    """Do the actions that the options ask for, in this order: detect, load, flash, rescan."""
    if arguments.detect:
        openocd.run(board, arguments.cable or openocd.CABLE, arguments.cable_speed, {"scans": ""},
            ["check_chain"], openocd.Progress(sys.stdout))
    if arguments.load:
        load(board, arguments)
    if arguments.flash:
        flash(board, arguments)
    if arguments.rescan:
        print("\n".join(rescan(VENDOR, DEVICE)))
