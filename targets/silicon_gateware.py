# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Build the gateware of a board: the SoC on its pins, and the files for the vendor's tool."""

from pathlib import Path

from targets.gateware_options import check_gateware_options, gateware_key, virtio_build
from targets.nets import HIGH, UNKNOWN, constraints
from targets.pads import CORE_LANES, CorePads, connect_cage, make_platform
from tools.vivado.run import core_script


def cages_of(board, arguments):
    """Return the names of the cages that a build with these options has."""
    return board.cages() if arguments.card else ()

def say_which_cages(board, arguments):
    """Print a sentence if the card services are asked for on a board whose cages' pins are not
    known, or known by one report only."""
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
    """Return the LaneboxSoC of `board`, built with the options of the command line."""
    from gateware.soc import LaneboxSoC

    platform = make_platform(board, arguments.lanes, cages_of(board, arguments))
    pins     = platform.request(f"pcie_x{arguments.lanes}")
    pads     = pins if len(pins.tx_p) == CORE_LANES else CorePads(pins)
    soc = LaneboxSoC(platform,
        pads     = pads,
        leds     = platform.request_all("user_led"),
        board    = board.name,
        endpoint = arguments.endpoint,
        user     = user,
        msix     = arguments.msix,
        clock    = board.clock,
        compat   = arguments.compat,
        completion_pool = arguments.completion_pool,
        capture  = arguments.capture,
        card     = cages_of(board, arguments) if arguments.card else None,
        virtio   = virtio_build(arguments),
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
    each other."""
    from gateware.card.cpu.image import choose_firmware
    from gateware.user.slot import find_occupant
    from tools.verilog.build import build_cached

    check_gateware_options(arguments)
    check_card(board, arguments.card)
    firmware = choose_firmware(arguments.firmware, arguments.card)
    user   = find_occupant(arguments.user)
    output = Path(arguments.output_dir).absolute()
    built  = build_cached(output,
        gateware_key(arguments, user, firmware, board.name, arguments.lanes),
        lambda: make_soc(board, arguments, user, firmware))
    (output/"gateware"/f"{board.name}.xdc").write_text(
        constraints(board, arguments.lanes, cages_of(board, arguments)))
    (output/"gateware"/"core.tcl").write_text(
        core_script(board, arguments.endpoint, arguments.msix))
    return output, built
