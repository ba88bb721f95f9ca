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
from pathlib import Path

from bringup import programming
from targets.nets import HIGH, UNKNOWN, constraints
from targets.options import parse_arguments
from targets.pads import CORE_LANES, CorePads, connect_cage, make_platform
from tools.environment import ROOT, enter_environment
from tools.vivado.run import core_script, find_vivado, place_and_route

PROXY     = programming.PROXY
# Exit status if the target has done all that needs no vendor tool, but Vivado is missing.
NO_VENDOR = 3
EDITION   = "Vivado ML Standard, which costs nothing, from 2021.1 on"

# Gateware -----------------------------------------------------------------------------------------

def cages_of(board, arguments):
    """Return the names of the cages that a build with these options has."""
    return board.cages() if arguments.card else ()

def say_which_cages(board, arguments):
    """Print a sentence if the card services are asked for on a board whose cages' pins are not
    known, or known by one report only.
    """
    if not arguments.card:
        return
    cages = board.cages()
    if not cages:
        print(f"\n{board.title}: the pins of QSFP cages are not known, so this build has no blocks "
            "for modules; the sensors need no pins.")
        return
    weak = {board.net(f"qsfp_{name}.scl").confidence for name in cages} - {HIGH}
    if weak:
        names = " and ".join(map(str.upper, cages))
        print(f"\nThe pins of cages {names} are {' and '.join(weak)} only, "
            "see targets/README.md.")

def make_soc(board, arguments, user, firmware=None):
    """Return the LaneboxSoC of `board`, built with the
    options of the command line in `arguments`.
    """
    from gateware.soc import LaneboxSoC

    platform = make_platform(board, arguments.lanes, cages_of(board, arguments))
    pins     = platform.request(f"pcie_x{arguments.lanes}")
    pads     = pins if len(pins.tx_p) == CORE_LANES else CorePads(pins)
    soc = LaneboxSoC(platform,
        pads     = pads,
        leds     = platform.request_all("user_led"),
        target   = board.name,
        endpoint = arguments.endpoint,
        user     = user,
        msix     = arguments.msix,
        clock    = board.clock,
        compat   = arguments.compat,
        completion_pool = arguments.completion_pool,
        capture  = arguments.capture,
        card     = cages_of(board, arguments) if arguments.card else None,
        virtio   = arguments.port if arguments.virtio else None,
        firmware = firmware,
    )
    for name in cages_of(board, arguments):
        comb, specials = connect_cage(platform, name, soc.cages[name])
        soc.comb     += comb
        soc.specials += specials
    if pads is not pins:
        soc.comb += pads.connect(pins)
    return soc

def check_card(board, card):
    """Raise ValueError if the card services are asked for on a board whose flash is not known."""
    for net in board.nets:
        if card and net.name == "flash" and net.confidence == UNKNOWN:
            raise ValueError(f"--card: the flash of {board.title} is not known, and the golden "
                f"image is safe only in a flash of known size. {net.advice}")

def build_gateware(board, arguments):
    """Write Verilog, register map, pins and the PCIe core's properties to the output folder.

    Return the folder, and whether anything was built anew. Raise ValueError if options contradict
    each other.
    """
    from gateware.capture.registers import check_capture
    from gateware.card.cpu.image import choose_firmware
    from gateware.card.upkeep import check_upkeep
    from gateware.endpoint.endpoints import check_endpoint
    from gateware.user.slot import find_occupant, occupant_sources
    from gateware.virtio.device import check_virtio
    from gateware.vocabulary.windows import check_compat
    from tools.verilog.build import build_cached, build_key
    from tools.verilog.sources import source_digest, source_files

    check_endpoint(arguments.endpoint, arguments.completion_pool)
    check_capture(arguments.capture, arguments.endpoint)
    check_upkeep(arguments.card, arguments.compat)
    check_virtio(arguments.virtio, arguments.endpoint, arguments.compat, arguments.port)
    check_compat(arguments.compat, arguments.endpoint, arguments.msix)
    check_card(board, arguments.card)
    firmware = choose_firmware(arguments.firmware, arguments.card)
    user   = find_occupant(arguments.user)
    output = Path(arguments.output_dir).absolute()
    key    = build_key(
        sources = source_digest(source_files(ROOT/"gateware"), source_files(ROOT/"targets"),
            source_files(ROOT/"tools"/"verilog"), occupant_sources(user)),
        options = [board.name, arguments.lanes, arguments.endpoint, user.__module__,
            user.__qualname__, arguments.msix, arguments.compat, arguments.completion_pool,
            arguments.capture, arguments.card, arguments.virtio, arguments.port,
            firmware and firmware.digest()],
    )
    built = build_cached(output, key, lambda: make_soc(board, arguments, user, firmware))
    (output/"gateware"/f"{board.name}.xdc").write_text(
        constraints(board, arguments.lanes, cages_of(board, arguments)))
    (output/"gateware"/"core.tcl").write_text(
        core_script(board, arguments.endpoint, arguments.msix))
    return output, built

# Synthesis ----------------------------------------------------------------------------------------

def say_what_differs(board, lanes):
    """Print the board's clock if it is not the usual 250 MHz, and the lanes whose pins are not
    proven.
    """
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

    Return their folder, `output`/spi_proxy.
    """
    from bringup.jtag import spi_proxy
    from bringup.jtag.design import make_platform, synthesise_design, write_design
    from tools.synthesis.yosys import find_yosys

    folder = output/PROXY
    write_design(spi_proxy.SpiProxyDesign(), PROXY, make_platform(board.device),
        spi_proxy.CONSTRAINTS, folder)
    synthesise_design(PROXY, folder, find_yosys())
    return folder

# Vendor tool --------------------------------------------------------------------------------------

def say_what_is_ready(board, output):
    """Print which files are ready without Vivado, which are missing, and the command that
    resumes.
    """
    print(f"\n{board.title}: the netlist is ready, a bitstream is not: Vivado was not found by "
        f"PATH or LITEX_ENV_VIVADO. {EDITION}, knows {board.part}.\n"
        f"  ready    in {output}: synthesis/netlist.edif and netlist.v, report.json, "
        f"gateware/{board.name}.xdc, csr.json, include/*.h\n"
        "  missing  the vendor's core pcie4_uscale_plus (a black box in the netlist), placing, "
        "routing, timing\n"
        f"  resume   {shlex.join(sys.argv)}", file=sys.stderr)

# Main ---------------------------------------------------------------------------------------------

def build(board, arguments):
    """Build what the options ask for: gateware, driver, netlist and bitstream.

    Return False if a bitstream was asked for and Vivado is missing.
    """
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
    program.
    """
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
