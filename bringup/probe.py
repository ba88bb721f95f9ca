# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Find out what is on the pins of a card, over JTAG alone.

This module is the body of the scripts targets/<board>_probe.py.
"""

import argparse
import json
import sys
from pathlib import Path

from bringup import openocd, probe_design
from bringup.bitstream import check_part, read_bitstream
from bringup.openocd import ProgramError
from bringup.pin_decoder import decode, read_recording
from tools.environment import ROOT, enter_environment
from tools.vivado.run import find_vivado, place_and_route

NO_VENDOR = 3
# The pin probe watches the pins for this many cycles of the configuration clock, which is 1.3 s.
WINDOW    = 1 << 26
NOMINAL   = 50e6    # Nominal frequency of the configuration clock in Hz. It is off by 15 % at most.
HEARD     = "heard.json"

FREE, CHANGES, LOW, HIGH, UNCLEAR = "free", "changes", "held low", "held high", "unclear"

# Options of the command line ----------------------------------------------------------------------

def parse_arguments(board, description):
    """Return the parsed command line of a script targets/<board>_probe.py."""
    parser = argparse.ArgumentParser(description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    target = parser.add_argument_group("target options")
    target.add_argument("--build", action="store_true", help="make the images")
    target.add_argument("--listen", action="store_true", help="what is on which pin, which clocks")
    target.add_argument("--drive", metavar="PIN", help="have a free pin send its name")
    target.add_argument("--decode", metavar="FILE",
        help="the names in a recording: CSV of seconds and level")
    target.add_argument("--output-dir", default=str(ROOT/"build"/f"{board.name}_probe"),
        metavar="DIR",
        help=f"where to write and to find what was written (default: build/{board.name}_probe)")
    target.add_argument("--cable", default=openocd.CABLE, metavar="NAME",
        help=f"an interface of OpenOCD's, or a .cfg file (default: {openocd.CABLE})")
    target.add_argument("--cable-speed", type=int, default=openocd.SPEED, metavar="KHZ",
        help=f"clock of the cable (default: {openocd.SPEED})")
    arguments = parser.parse_args()
    arguments.board = board
    if not (arguments.build or arguments.listen or arguments.drive or arguments.decode):
        parser.error("nothing to do: --build, --listen, --drive or --decode")
    return arguments

# Building the probe's two images ------------------------------------------------------------------

def image(arguments, pull):
    """Return the folder of the probe's image `pull`: 0 is the image with pull-downs, 1 the one with
    pull-ups.
    """
    return Path(arguments.output_dir).absolute()/f"probe_{probe_design.PULLS[pull]}"

def build(arguments):
    """Make both images, with pull-downs and with pull-ups, up to netlist or bitstream.

    Return False if Vivado is missing, so that only netlists were made.
    """
    from bringup.jtag.design import synthesise_design
    from tools.synthesis.yosys import find_yosys

    vivado = find_vivado()
    for pull in (0, 1):
        folder = image(arguments, pull)
        probe_design.write(arguments.board, pull, folder)
        synthesise_design(folder.name, folder, find_yosys())
        if vivado:
            print(place_and_route(vivado, arguments.board, folder, folder.name, "vivado"))
    if vivado is None:
        print(f"the netlists are in {arguments.output_dir}, but no bitstreams: Vivado was not "
            "found by PATH or LITEX_ENV_VIVADO. Run this again where it is", file=sys.stderr)
    return vivado is not None

# Listening: what the card drives on its pins ------------------------------------------------------

def settings(board, pull):
    """Return {name: value} of the variables that the script probe.tcl needs to talk to the image
    `pull` (0: pull-downs, 1: pull-ups).
    """
    from bringup.jtag import pin_probe

    pins, clocks = len(probe_design.candidates(board)), len(probe_design.refclks())
    operations   = {"identify": pin_probe.IDENTIFY, "pin": pin_probe.PIN,
        "clock": pin_probe.CLOCK, "listen": pin_probe.LISTEN, "drive": pin_probe.DRIVE,
        "release": pin_probe.RELEASE}
    return {"pins": pins, "clocks": clocks, "window": WINDOW, "key": pin_probe.KEY,
        "identification": pin_probe.identification(pins, clocks, pull),
        **{f"operation({name})": number for name, number in operations.items()}}

def talk(arguments, pull, commands, note=lambda *words: None):
    """Load the probe's image `pull`, let it watch the pins, and run `commands` of probe.tcl. Return
    all reports of probe.tcl.
    """
    folder    = image(arguments, pull)
    bitstream = folder/"vivado"/f"{folder.name}.bit"
    if not bitstream.exists():
        raise ProgramError(f"there is no {bitstream}: `{sys.argv[0]} --build` makes it where "
            "Vivado is")
    loaded = read_bitstream(bitstream)
    check_part(loaded, arguments.board)
    return openocd.load_and(arguments.board, loaded, settings(arguments.board, pull),
        [openocd.HERE/"probe.tcl"], ["check_probe", "listen", *commands],
        arguments.cable, arguments.cable_speed, note)

def clock_count(data):
    """Return how many cycles of a clock the pin probe counted while it last watched the pins. The
    result is 0 if the probe's answer `data` has an older count.
    """
    from bringup.jtag.pin_probe import COUNT_BITS

    return data if data >> COUNT_BITS == 0 else 0

def hear(arguments, pull):
    """Return {"pins": {pin: [was low, was high, number of changes]}, "clocks": {clock: cycles}} as
    the probe's image `pull` (0: pull-downs, 1: pull-ups) saw the card's pins and clocks.
    """
    from bringup.jtag import pin_probe

    pins, clocks = {}, {}
    names = [pin for pin, _ in probe_design.candidates(arguments.board)]
    for kind, *words in talk(arguments, pull, ["report"]):
        if kind == "pin":
            data = int(words[1], 0)
            pins[names[int(words[0])]] = [bool(data & pin_probe.WAS_LOW),
                bool(data & pin_probe.WAS_HIGH), data & (1 << pin_probe.CHANGES_BITS) - 1]
        if kind == "clock":
            name = probe_design.refclks()[int(words[0])][0]
            clocks[name] = clock_count(int(words[1], 0))
    return {"pins": pins, "clocks": clocks}

def verdict(down, up):
    """Return what a pin is, as one of the words FREE, CHANGES, LOW, HIGH and UNCLEAR. `down` and
    `up` are what the probe saw on the pin with pull-down and with pull-up.
    """
    if down[2] or up[2] or down[0] == down[1] or up[0] == up[1]:
        return CHANGES
    if down[1] and up[1]:
        return HIGH
    if down[0] and up[0]:
        return LOW
    return FREE if down[0] and up[1] else UNCLEAR

def frequency(name, clocks):
    """Return the frequency of the clock `name` as text in MHz.

    The reference is PCIe's 100 MHz clock if it runs. Otherwise it is the configuration clock, which
    is off by up to 15 %.
    """
    # `known` is the count of clock 225.0, the PCIe reference clock of the KU5P card (100 MHz).
    count, known = clocks[name], clocks["225.0"]
    if 0.8 < known*NOMINAL/WINDOW/100e6 < 1.2:
        return f"{100*count/known:8.3f} MHz"
    return f"{count*NOMINAL/WINDOW/1e6:8.1f} MHz, give or take 15 %"

def table(board, heard):
    """Return a table, as text, of all candidate pins and reference clocks.

    Each pin has its bank, what it is, and its number of changes; each clock has its frequency.
    """
    lines = [f"{'pin':6}{'bank':6}{'is':11}changes"]
    for pin, bank in probe_design.candidates(board):
        down, up = heard["down"]["pins"][pin], heard["up"]["pins"][pin]
        lines.append(f"{pin:6}{bank:<6}{verdict(down, up):11}{max(down[2], up[2]) or ''}")
    lines += ["", f"{'clock':8}{'pins':10}frequency"]
    for name, p, n in probe_design.refclks():
        count = heard["up"]["clocks"][name]
        said  = frequency(name, heard["up"]["clocks"]) if count else "none"
        lines.append(f"{name:8}{p + '/' + n:10}{said}")
    return "\n".join(line.rstrip() for line in lines)

def listen(arguments):
    """Listen with both images on the card, save what was heard to heard.json, and print the
    table.
    """
    heard = {name: hear(arguments, pull) for pull, name in enumerate(probe_design.PULLS)}
    Path(arguments.output_dir, HEARD).write_text(json.dumps(heard, indent=1) + "\n")
    print(table(arguments.board, heard))

# Driving: each pin sends its own name -------------------------------------------------------------

def drive(arguments):
    """Have one pin send its name, if it was heard to be free under both pulls.

    The gateware of an image knows only how the pin behaves under its own pull, so this function
    compares both.
    """
    names = [pin for pin, _ in probe_design.candidates(arguments.board)]
    if arguments.drive not in names:
        raise ProgramError(f"{arguments.drive} is not driven: it is no ordinary pin of this "
            "package, or the card's table already says what is on it")
    file = Path(arguments.output_dir, HEARD)
    if not file.exists():
        raise ProgramError("nothing is driven before --listen has heard all pins")
    heard = json.loads(file.read_text())
    found = verdict(*(heard[name]["pins"][arguments.drive] for name in probe_design.PULLS))
    if found != FREE:
        raise ProgramError(f"{arguments.drive} is not driven: it was heard to be {found}")

    def note(kind, *_):
        if kind == "driving":
            print(f"{arguments.drive} sends its name at 9600 baud, give or take 15 %", flush=True)
        if kind == "contention":
            print(f"{arguments.drive} was let go: something else drives it")
        if kind == "released":
            print(f"{arguments.drive} was let go")

    talk(arguments, 1, [f"drive {names.index(arguments.drive)}"], note)

# The pin probe of a board -------------------------------------------------------------------------

def main(board, description):
    """Run the pin probe of `board` with the options of the command line, and end the program with
    its exit status.
    """
    arguments = parse_arguments(board, description)
    try:
        if arguments.decode:
            names = decode(read_recording(arguments.decode))
            print("\n".join(dict.fromkeys(names)) or "no name in this recording")
            return
        enter_environment()
        if arguments.build and not build(arguments):
            sys.exit(NO_VENDOR)
        if arguments.listen:
            listen(arguments)
        if arguments.drive:
            drive(arguments)
    except (ValueError, RuntimeError, LookupError, OSError) as error:
        sys.exit(f"{sys.argv[0]}: {error}")
    except KeyboardInterrupt:
        print(f"\n{sys.argv[0]}: interrupted; the probe drives nothing for longer than ten "
            "seconds", file=sys.stderr)
        sys.exit(130)
