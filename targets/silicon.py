# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The common part of the targets of boards: options, platform, gateware, synthesis by Yosys, and
exit status 3 if the vendor's tool is needed and not there.

The output folder gets the files of lanebox.build, and

    gateware/<board>.xdc              pins, standards and the reference clock
    gateware/core.tcl                 the properties of the vendor's PCIe core
    synthesis/netlist.edif, netlist.v the mapped netlist
    report.json                       area by block, the deepest paths, problems
    vivado/lanebox.bit                the bitstream, with reports beside it, if Vivado is here;
                                      lanebox_golden.bit is for the flash's first half
    spi_proxy/                        the same files of the design that writes the flash
"""

import argparse
import logging
import shlex
import signal
import sys
from pathlib import Path

import programming
from environment import ROOT, enter_environment
from nets import HIGH, constraints
from vivado import core_script, find_vivado, place_and_route

CORE_LANES  = 8 # The core is always x8. The link trains down to the lanes that have pins.
HARD_BLOCK  = ROOT/"sim"/"board"/"pcie4"/"pcie_usp.sv" # Source of the core's pins for synthesis.
PROXY       = programming.PROXY
NO_VENDOR   = 3 # Exit status: everything that needs no vendor tool is done.
EDITION     = "Vivado ML Standard, which costs nothing, from 2021.1 on"

ACTIONS = ("build", "synth_only", "detect", "load", "flash", "rescan", "driver")

# Options ------------------------------------------------------------------------------------------

def parse_arguments(board, description):
    parser = argparse.ArgumentParser(description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    target = parser.add_argument_group("target options")
    target.add_argument("--build", action="store_true",
        help="write gateware, register map and netlist; then a bitstream, if Vivado is here")
    target.add_argument("--synth-only", action="store_true", help="build up to the netlist")
    target.add_argument("--detect", action="store_true",
        help="see whether the board's part is on the cable, and do nothing to it")
    target.add_argument("--load", action="store_true", help="load the bitstream over JTAG")
    target.add_argument("--flash", action="store_true",
        help="write the bitstream to the card's flash, and read it back")
    target.add_argument("--rescan", action="store_true",
        help="let this host look for the card again, and say how its link trained")
    target.add_argument("--driver", action="store_true",
        help="write driver and tools for this build, to be compiled")
    target.add_argument("--lanes", type=int, default=board.lanes[0], choices=board.lanes,
        help=f"lanes of PCIe that have pins (default: {board.lanes[0]})")
    target.add_argument("--endpoint", default="lanebox", metavar="NAME",
        help="PCIe endpoint: lanebox (default) or litepcie, the stock one")
    target.add_argument("--msix", action="store_true",
        help="MSI-X beside MSI, with a vector for each source")
    target.add_argument("--completion-pool", action="store_true",
        help="count headers and data of read completions together: for a host or hard block that "
            "gives them one pool of 2048 units (default: 256 headers, 2048 units of data)")
    target.add_argument("--compat", metavar="NAME",
        help="seed000: two 4 KiB memories at BAR0 + 0x0000 and + 0x4000, registers behind them")
    target.add_argument("--user", default="lanebox.user.loopback:Loopback", metavar="MODULE:CLASS",
        help="logic in the user slot; MODULE is a dotted name or a .py file (default: loopback)")

    builder = parser.add_argument_group("builder options")
    builder.add_argument("--output-dir", default=str(ROOT/"build"/board.name), metavar="DIR",
        help=f"where to write (default: build/{board.name})")
    builder.add_argument("--synthesis", default="vivado", choices=("vivado", "yosys"),
        help="whose netlist becomes the bitstream (default: vivado); the report is always Yosys'")
    programming.add_options(parser)
    arguments = parser.parse_args()
    if arguments.golden and not arguments.flash:
        parser.error("--golden is a way to --flash")
    if not any(getattr(arguments, name) for name in ACTIONS):
        parser.error("nothing to do: " + " or ".join(f"--{name.replace('_', '-')}"
            for name in ACTIONS))
    return arguments

# Gateware -----------------------------------------------------------------------------------------

def make_platform(board, lanes):
    """LiteX's platform with the board's usable pins. A request for another net says what is known
    of it.
    """
    from litex.build.generic_platform import ConstraintError, IOStandard, Misc, Pins, Subsignal
    from litex.build.xilinx import XilinxUSPPlatform

    def constraint(pins, standard):
        level, *properties = standard.split() or [""]
        return [Pins(" ".join(pins)), *([IOStandard(level)] if level else []),
            *map(Misc, properties)]

    resources = [(port, constraint(pins, standard))
        for port, pins, standard in board.resources(lanes)]
    link = [Subsignal(port.partition(".")[2], *found) for port, found in resources if "." in port]
    io   = [(f"pcie_x{lanes}", 0, *link)]
    io  += [("user_led", n, *found) for n, (_, found) in enumerate(
        entry for entry in resources if "." not in entry[0])]

    class Platform(XilinxUSPPlatform):
        def request(self, name, *arguments, **options):
            try:
                return XilinxUSPPlatform.request(self, name, *arguments, **options)
            except ConstraintError:
                if name in [net.name for net in board.nets]:
                    board.net(name) # Raises an error that says why the net cannot be used.
                raise

    return Platform(board.device, io, toolchain="vivado")

class CorePads:
    """Pads for the core's eight lanes, of which the board may have fewer."""
    def __init__(self, pins):
        from migen import Signal
        self.rst_n, self.clk_p, self.clk_n = pins.rst_n, pins.clk_p, pins.clk_n
        for name in ("rx_p", "rx_n", "tx_p", "tx_n"):
            setattr(self, name, Signal(CORE_LANES, name=f"core_{name}"))

    def connect(self, pins):
        return [
            self.rx_p.eq(pins.rx_p), self.rx_n.eq(pins.rx_n),
            pins.tx_p.eq(self.tx_p), pins.tx_n.eq(self.tx_n),
        ]

def make_soc(board, arguments, user):
    from lanebox.soc import LaneboxSoC

    platform = make_platform(board, arguments.lanes)
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
    )
    if pads is not pins:
        soc.comb += pads.connect(pins)
    return soc

def build_gateware(board, arguments):
    from lanebox.build import build_cached, build_key
    from lanebox.identity import source_digest, source_files
    from lanebox.mmio.windows import check_compat
    from lanebox.pcie.endpoint import check_endpoint
    from lanebox.user.slot import find_occupant, occupant_sources

    check_endpoint(arguments.endpoint, arguments.completion_pool)
    check_compat(arguments.compat, arguments.endpoint, arguments.msix)
    user   = find_occupant(arguments.user)
    output = Path(arguments.output_dir).absolute()
    key    = build_key(
        sources = source_digest(source_files(ROOT/"gateware"), source_files(ROOT/"targets"),
            occupant_sources(user)),
        options = [board.name, arguments.lanes, arguments.endpoint, user.__module__,
            user.__qualname__, arguments.msix, arguments.compat, arguments.completion_pool],
    )
    built = build_cached(output, key, lambda: make_soc(board, arguments, user))
    (output/"gateware"/f"{board.name}.xdc").write_text(constraints(board, arguments.lanes))
    (output/"gateware"/"core.tcl").write_text(
        core_script(board, arguments.endpoint, arguments.msix))
    return output, built

# Synthesis ----------------------------------------------------------------------------------------

def say_what_differs(board, lanes):
    """Prints what a reader of the numbers must know about this board."""
    from lanebox import layouts

    if board.clock != layouts.SYS_CLK_FREQ:
        print(f"\nThe core's {layouts.DATA_WIDTH} bits come at {board.clock/1e6:.0f} MHz on this "
            f"board, not at {layouts.SYS_CLK_FREQ/1e6:.0f}: a tick of device time is "
            f"{1e9/board.clock:.0f} ns, as the capability table says.")
    weaker = {net.confidence for net in board.nets if net.name.startswith("pcie.")} - {HIGH}
    if lanes > 1 and weaker:
        print(f"\nThe pins of lanes 1 to {lanes - 1} are {' and '.join(sorted(weaker))} only, see "
            "targets/README.md; `--lanes 1` uses proven pins.")

def synthesise(board, output):
    """Writes the report, prints its table, and returns a sentence for each problem."""
    from lanebox.synthesis import report
    from lanebox.synthesis.gateware import make_design, own_rows
    from lanebox.synthesis.yosys import find_yosys

    found = report.analyse(make_design(output, HARD_BLOCK), output/"synthesis", find_yosys())
    clocks = {clock: "pcie" if clock.startswith(("pcie", "sys")) else clock
        for clock, paths in found.paths.items() if paths[0].levels}
    rows = [*report.part_rows(found, board.part, clocks), *own_rows(found)]
    report.write(found, rows, output/"report.json")
    print(report.table(found, board.part))
    wrong = list(found.problems)
    worst = found.deepest()
    if worst and worst.levels > report.TOO_DEEP:
        wrong.append(f"{worst.start} -> {worst.end}: {worst.levels} LUT levels, and "
            f"{report.TOO_DEEP} are the most at {board.clock/1e6:.0f} MHz")
    return wrong

def build_proxy(board, output):
    """Verilog and netlist, in a folder of their own, of the design through which the flash is
    written.
    """
    from lanebox.jtag import spi_proxy
    from lanebox.jtag.design import make_platform, synthesise_design, write_design
    from lanebox.synthesis.yosys import find_yosys

    folder = output/PROXY
    write_design(spi_proxy.SpiProxyDesign(), PROXY, make_platform(board.device),
        spi_proxy.CONSTRAINTS, folder)
    synthesise_design(PROXY, folder, find_yosys())
    return folder

# Vendor tool --------------------------------------------------------------------------------------

def say_what_is_ready(board, output):
    print(f"\n{board.title}: the netlist is ready, a bitstream is not: Vivado was not found by "
        f"PATH or LITEX_ENV_VIVADO. {EDITION}, knows {board.part}.\n"
        f"  ready    in {output}: synthesis/netlist.edif and netlist.v, report.json, "
        f"gateware/{board.name}.xdc, csr.json, include/*.h\n"
        "  missing  the vendor's core pcie4_uscale_plus (a black box in the netlist), placing, "
        "routing, timing\n"
        f"  resume   {shlex.join(sys.argv)}", file=sys.stderr)

# Main ---------------------------------------------------------------------------------------------

def build(board, arguments):
    """Everything up to the bitstream. False if the vendor's tool is needed and not there."""
    output, built = build_gateware(board, arguments)
    print(f"{output}: {'built' if built else 'up to date'}", flush=True)
    if arguments.driver:
        programming.write_driver(output)
    if not (arguments.build or arguments.synth_only):
        return True
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
    arguments = parse_arguments(board, description)
    # Then SIGTERM ends it as tidily as Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if arguments.build or arguments.synth_only or arguments.driver:
            enter_environment()
            logging.basicConfig(level=logging.WARNING) # LiteX prints its whole log otherwise.
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
