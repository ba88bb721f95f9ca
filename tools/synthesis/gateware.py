# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Synthesises the gateware that tools.verilog.build wrote.

For comparison LitePCIe's endpoint, the DMA engines, the user slot's monitor, the capture block and
the card services are synthesised, too.
"""

from dataclasses import replace
from pathlib import Path

from gateware.phy import pins_verilog
from tools.synthesis import card, cpu, engines, monitor, report, stock
from tools.synthesis.yosys import Design, black_box, find_yosys
from tools.verilog import spinal_build
from tools.verilog.build import TOP

# The SpinalHDL components of endpoint and bridge, without DMA engines and target memories.
ENDPOINT_BLOCKS = ("Requester", "Completer", "SlavePort", "MmioBridge")
ENDPOINT_BUDGET = {"lut": 8500, "lutram": 3000, "bram": 24}
MONITOR_BUDGET = {"lut": 300, "ff": None}
CAPTURE_BUDGET = {"lut": 7000, "lutram": None, "ff": None, "bram": 35, "uram": 32}
COMMANDS_BUDGET = {"lut": 1000, "lutram": None, "ff": None, "bram": 10}
CARD_BUDGET = {"lut": 2000, "lutram": None, "ff": None, "bram": 2}
CPU_BUDGET = {"lut": 1200, "lutram": None, "ff": None, "bram": None}
ENGINE_FIELDS = ("lut", "lutram", "ff", "bram", "uram")


def hard_block():
    """Return the Verilog of the PCIe hard block as a black box."""
    return black_box(pins_verilog.module(), pins_verilog.MODULE)


def make_design(output):
    """Return the gateware in the folder `output` as a Design.

    Every SpinalHDL component is a block of its own.
    """
    sources = (Path(output) / "gateware" / "sources.txt").read_text().splitlines()
    sources = [Path(source) for source in sources]
    data = [
        file
        for folder in {source.parent for source in sources}
        for suffix in ("*.init", "*.bin")
        for file in sorted(folder.glob(suffix))
    ]
    return Design(
        top=TOP,
        files=[*sources, *sorted(data)],
        black_boxes=[hard_block()],
        blocks=[path.stem for path in sources if spinal_build.OUTPUT in path.parents],
    )


def stock_report(folder):
    """Return the report of the synthesis of LitePCIe's endpoint alone."""
    files = stock.write_stock(Path(folder) / "verilog")
    design = Design(stock.TOP, files, [hard_block()], pads=False)
    return report.analyse(design, Path(folder) / "synthesis", find_yosys())


def own_rows(found):
    """Return the rows area/endpoint/* and depth/endpoint of a report.

    If the report is of another endpoint than Lanebox's, the list is empty.
    """
    blocks = [block for block in found.blocks if block.rpartition(".")[2] in ENDPOINT_BLOCKS]
    return report.block_rows(found, "endpoint", ENDPOINT_BUDGET, blocks) if blocks else []


def engine_rows(folder):
    """Return the rows area/dma/* and depth/dma of both engines of a channel, without a limit."""
    folder = Path(folder)
    design = Design(engines.TOP, engines.write_engines(folder / "verilog"), [], pads=False)
    found = report.analyse(design, folder / "synthesis", find_yosys())
    return report.block_rows(found, "dma", dict.fromkeys(ENGINE_FIELDS))


def monitor_rows(folder):
    """Return the rows area/slot/* and depth/slot of the user slot's monitor with its registers."""
    folder = Path(folder)
    design = Design(monitor.TOP, monitor.write_monitor(folder / "verilog"), [], pads=False)
    found = report.analyse(design, folder / "synthesis", find_yosys())
    return report.block_rows(found, "slot", MONITOR_BUDGET)


def cpu_rows(folder):
    """Return the rows area/cpu/* and depth/cpu of the management CPU with its registers.

    The depth is that of the user clock's paths. Those of the core have four of its periods.
    """
    folder = Path(folder)
    design = Design(cpu.TOP, cpu.write_cpu(folder / "verilog"), [], pads=False)
    found = report.analyse(design, folder / "synthesis", find_yosys())
    area = report.block_rows(found, "cpu", CPU_BUDGET)[:-1]
    return [*area, report.depth_row("depth/cpu", found.deepest(clock="sys_clk"))]


def capture_rows(folder):
    """Return the rows area/capture/* and depth/capture of the capture block with its generator.

    The registers are not included.
    """
    verilog = spinal_build.generate("capture.CaptureUnit")
    design = Design(verilog.stem, [verilog], pads=False)
    found = report.analyse(design, Path(folder) / "synthesis", find_yosys())
    return report.block_rows(found, "capture", CAPTURE_BUDGET)


def commands_rows(folder):
    """Return the rows area/slot.commands/* and depth/slot.commands of the block that carries out
    the commands of the user slot's logic.
    """
    verilog = spinal_build.generate("user.HostCommands")
    design = Design(verilog.stem, [verilog], pads=False)
    found = report.analyse(design, Path(folder) / "synthesis", find_yosys())
    return report.block_rows(found, "slot.commands", COMMANDS_BUDGET)


def card_rows(folder):
    """Return the rows area/card/* and depth/card of the card services with their registers: flash
    engine, reboot, sensors and two cages.
    """
    folder = Path(folder)
    design = Design(card.TOP, card.write_card(folder / "verilog"), [], pads=False)
    found = report.analyse(design, folder / "synthesis", find_yosys())
    return report.block_rows(found, "card", CARD_BUDGET)


def flat_rows(output):
    """Return the row depth/flat: the deepest path of the whole gateware in the folder `output`.

    The gateware is optimised across its blocks for this row.
    """
    design = replace(make_design(output), blocks=[], fast=True)
    found = report.analyse(design, Path(output) / "flat", find_yosys())
    return [report.depth_row("depth/flat", found.deepest())]


def endpoint_rows(output):
    """Return the rows area/endpoint/* and depth/endpoint of two endpoints.

    Those of the gateware in the folder `output` come first, then those of LitePCIe's endpoint. Both
    are synthesised unless that was done before. `vs` is ours / theirs: below 1 our endpoint is
    smaller.
    """
    output = Path(output)
    design = make_design(output)
    ours = own_rows(report.analyse(design, output / "synthesis", find_yosys()))
    if not ours:
        raise ValueError(
            f"there is no Lanebox endpoint in {output}: its blocks would be "
            f"{', '.join(ENDPOINT_BLOCKS)}"
        )
    peer = report.block_rows(
        stock_report(output / "stock"), "endpoint", ENDPOINT_BUDGET, prefix="stock/"
    )
    return report.compare(ours, peer) + peer
