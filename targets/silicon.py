# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Carry out the actions of all boards' targets: gateware, netlist, bitstream, programming.

The exit status is 3 if the vendor's tool Vivado is needed and missing. The output folder gets the
files of tools.verilog.build, and

    gateware/<board>.xdc              pins, standards and the reference clock
    gateware/core.tcl                 the properties of the vendor's PCIe core
    synthesis/netlist.edif, netlist.v the mapped netlist
    report.json                       area by block, the deepest paths, problems
    vivado/lanebox.bit                the bitstream for JTAG, with reports beside it, if Vivado is
                                      there; lanebox_golden.bit is for the flash's first half, and
                                      lanebox_application.bit for its second
    spi_proxy/                        the same files of the design that writes the flash
"""

import logging
import shlex
import signal
import sys

from bringup import programming
from targets.nets import HIGH
from targets.options import parse_arguments
from targets.silicon_gateware import build_gateware, say_which_cages
from tools.environment import enter_environment
from tools.vivado.run import find_vivado, place_and_route

PROXY     = programming.PROXY
# Exit status if the target has done all that needs no vendor tool, but Vivado is missing.
NO_VENDOR = 3
EDITION   = "Vivado ML Standard, which costs nothing, from 2021.1 on"

# Synthesis without the vendor's tool --------------------------------------------------------------

def say_what_differs(board, lanes):
    """Print the board's clock if it is not the usual 250 MHz, and the lanes whose pins are not
    proven."""
    from gateware import numbers

    if board.clock != numbers.SYS_CLK_FREQ:
        print(f"\nThe core's {numbers.DATA_WIDTH} bits come at {board.clock/1e6:.0f} MHz on this "
            f"board, not at {numbers.SYS_CLK_FREQ/1e6:.0f}: a tick of device time is "
            f"{1e9/board.clock:.0f} ns, as the capability table says.")
    weaker = {net.confidence for net in board.nets if net.name.startswith("pcie.")} - {HIGH}
    if lanes > 1 and weaker:
        print(f"\nThe pins of lanes 1 to {lanes - 1} are {' and '.join(sorted(weaker))} only, see "
            "targets/README.md; `--lanes 1` uses proven pins.")

def build_proxy(board, output):
    """Make Verilog and netlist of the SPI proxy, the design through which the flash is written.

    Return their folder, `output`/spi_proxy."""
    from bringup.jtag import spi_proxy
    from bringup.jtag.design import make_platform, synthesise_design, write_design
    from tools.synthesis.yosys import find_yosys

    folder = output/PROXY
    write_design(spi_proxy.SpiProxyDesign(), PROXY, make_platform(board.device),
        spi_proxy.CONSTRAINTS, folder)
    synthesise_design(PROXY, folder, find_yosys())
    return folder

# Steps that need the vendor's tool ----------------------------------------------------------------

def say_what_is_ready(board, output):
    """Print which files are ready without Vivado, which are missing, and the command that
    resumes."""
    print(f"\n{board.title}: the netlist is ready, a bitstream is not: Vivado was not found by "
        f"PATH or LITEX_ENV_VIVADO. {EDITION}, knows {board.part}.\n"
        f"  ready    in {output}: synthesis/netlist.edif and netlist.v, report.json, "
        f"gateware/{board.name}.xdc, csr.json, include/*.h\n"
        "  missing  the vendor's core pcie4_uscale_plus (a black box in the netlist), placing, "
        "routing, timing\n"
        f"  resume   {shlex.join(sys.argv)}", file=sys.stderr)

# The target of a board ----------------------------------------------------------------------------

def build(board, arguments):
    """Build what the options ask for: gateware, driver, netlist and bitstream.

    Return False if a bitstream was asked for and Vivado is missing."""
    output, built = build_gateware(board, arguments)
    print(f"{output}: {'built' if built else 'up to date'}", flush=True)
    say_which_cages(board, arguments)
    if arguments.driver:
        programming.write_driver(output)
    if not (arguments.build or arguments.synth_only):
        return True
    from tools.synthesis.board import synthesise

    wrong = synthesise(board, output)
    say_what_differs(board, arguments.lanes)
    if wrong:
        raise RuntimeError("\n".join(["the netlist is not good:", *wrong]))
    if not arguments.build:
        return True
    proxy  = build_proxy(board, output)
    vivado = find_vivado()
    if vivado is None:
        say_what_is_ready(board, output)
        return False
    print(place_and_route(vivado, board, output, "lanebox", arguments.synthesis))
    print(place_and_route(vivado, board, proxy, PROXY, arguments.synthesis))
    return True

def main(board, description):
    """Run the target of `board`: do what the options of the command line ask for, and end the
    program."""
    arguments = parse_arguments(board, description)
    # With this handler SIGTERM raises KeyboardInterrupt, as Ctrl-C does, so both end the program
    # tidily.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if arguments.build or arguments.synth_only or arguments.driver:
            enter_environment()
            # With a lower level LiteX would print its whole log.
            logging.basicConfig(level=logging.WARNING)
            if not build(board, arguments):
                sys.exit(NO_VENDOR)
        programming.program(board, arguments)
    except programming.NoVendor as error:
        print(f"{sys.argv[0]}: {error}", file=sys.stderr)
        sys.exit(NO_VENDOR)
    except (ValueError, RuntimeError, LookupError, OSError) as error:
        sys.exit(f"{sys.argv[0]}: {error}")
    except KeyboardInterrupt:
        print(f"\n{sys.argv[0]}: interrupted; run the same command again. A card that was being "
            "loaded has no configuration now", file=sys.stderr)
        sys.exit(130)
