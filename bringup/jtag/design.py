# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Write and synthesise small designs that are loaded over JTAG for one job.

These designs are not part of the card's gateware. In a design's folder D its files are placed as
by tools.verilog.build:

    D/gateware/<name>.v, sources.txt   the design, whose top is called <name>
    D/gateware/<name>.xdc              its constraints
    D/synthesis, D/vivado              netlist and, where the vendor's tool is, bitstream
"""

from litex.build.xilinx import XilinxUSPPlatform

from tools.synthesis.yosys import Design, synthesise
from tools.verilog.litex_verilog import simulation_verilog


def write_design(design, name, platform, constraints, folder):
    """Write the Verilog of `design`, its constraints and its list of sources to
    `folder`/gateware.
    """
    with simulation_verilog():
        verilog = platform.get_verilog(design, name=name).main_source
    # LiteX writes a date and the hierarchy above the line `timescale. They are cut off, so that
    # equal designs give equal files.
    verilog = verilog[verilog.index("`timescale"):]
    gateware = folder/"gateware"
    gateware.mkdir(parents=True, exist_ok=True)
    (gateware/f"{name}.v").write_text(verilog)
    (gateware/f"{name}.xdc").write_text(constraints)
    (gateware/"sources.txt").write_text(f"{gateware/f'{name}.v'}\n")

def make_platform(device, io=()):
    """Return LiteX's platform for the part `device`, with the pins in `io` and no others."""
    return XilinxUSPPlatform(device, [*io], toolchain="vivado")

def synthesise_design(name, folder, yosys):
    """Make the netlist of the design `name` that `write_design` has written, with Yosys."""
    return synthesise(Design(name, [folder/"gateware"/f"{name}.v"]), folder/"synthesis", yosys)
