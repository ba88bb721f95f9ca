# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Small designs of their own, loaded over JTAG for one job. Files are placed as by lanebox.build.

    D/gateware/<name>.v, sources.txt   the design, whose top is called <name>
    D/gateware/<name>.xdc              its constraints
    D/synthesis, D/vivado              netlist and, where the vendor's tool is, bitstream
"""

from litex.build.xilinx import XilinxUSPPlatform

from lanebox.litex_verilog import simulation_verilog
from lanebox.synthesis.yosys import Design, synthesise


def write_design(design, name, platform, constraints, folder):
    """Writes the Verilog of `design`, its constraints and its list of sources to `folder`."""
    with simulation_verilog():
        verilog = platform.get_verilog(design, name=name).main_source
    verilog = verilog[verilog.index("`timescale"):] # Above it are a date and a hierarchy.
    gateware = folder/"gateware"
    gateware.mkdir(parents=True, exist_ok=True)
    (gateware/f"{name}.v").write_text(verilog)
    (gateware/f"{name}.xdc").write_text(constraints)
    (gateware/"sources.txt").write_text(f"{gateware/f'{name}.v'}\n")

def make_platform(device, io=()):
    return XilinxUSPPlatform(device, [*io], toolchain="vivado")

def synthesise_design(name, folder, yosys):
    """Makes the netlist of what `write_design` has written."""
    return synthesise(Design(name, [folder/"gateware"/f"{name}.v"]), folder/"synthesis", yosys)
