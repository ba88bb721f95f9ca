# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Synthesis of what lanebox.build wrote: the endpoint beside the stock one, the DMA engines."""

from pathlib import Path

from lanebox import spinal_build
from lanebox.build import TOP
from lanebox.synthesis import engines, report, stock
from lanebox.synthesis.yosys import Design, black_box, find_yosys

# SpinalHDL components that are endpoint and bridge; DMA engines and target memories are others.
ENDPOINT_BLOCKS = ("Requester", "Completer", "SlavePort", "MmioBridge")
ENDPOINT_BUDGET = {"lut": 8500, "lutram": 3000, "bram": 24}
ENGINE_FIELDS   = ("lut", "lutram", "ff", "bram", "uram")

def make_design(output, hard_block):
    """The gateware in `output` for Yosys; every SpinalHDL component is a block by itself.

    `hard_block` is the Verilog file of the core's pins, called after its module.
    """
    sources = (Path(output)/"gateware"/"sources.txt").read_text().splitlines()
    sources = [Path(source) for source in sources]
    data    = [file for folder in {source.parent for source in sources}
        for suffix in ("*.init", "*.bin") for file in sorted(folder.glob(suffix))]
    return Design(
        top         = TOP,
        files       = [*sources, *sorted(data)],
        black_boxes = [black_box(Path(hard_block).read_text(), Path(hard_block).stem)],
        blocks      = [path.stem for path in sources if spinal_build.OUTPUT in path.parents],
    )

def stock_report(folder, hard_block):
    """The stock endpoint by itself, in the same terms."""
    files  = stock.write_stock(Path(folder)/"verilog")
    pins   = black_box(Path(hard_block).read_text(), Path(hard_block).stem)
    design = Design(stock.TOP, files, [pins], pads=False)
    return report.analyse(design, Path(folder)/"synthesis", find_yosys())

def own_rows(found):
    """Rows area/endpoint/* and depth/endpoint of a report; none if it is of another endpoint."""
    blocks = [block for block in found.blocks if block.rpartition(".")[2] in ENDPOINT_BLOCKS]
    return report.block_rows(found, "endpoint", ENDPOINT_BUDGET, blocks) if blocks else []

def engine_rows(folder):
    """Rows area/dma/* and depth/dma: both engines of a channel, without a limit."""
    folder = Path(folder)
    design = Design(engines.TOP, engines.write_engines(folder/"verilog"), [], pads=False)
    found  = report.analyse(design, folder/"synthesis", find_yosys())
    return report.block_rows(found, "dma", dict.fromkeys(ENGINE_FIELDS))

def endpoint_rows(output, hard_block):
    """Rows area/endpoint/* and depth/endpoint of the gateware in `output`, the stock ones behind.

    Both are synthesised unless that is done; `vs` is ours / theirs, so below 1 is less.
    """
    output = Path(output)
    design = make_design(output, hard_block)
    ours   = own_rows(report.analyse(design, output/"synthesis", find_yosys()))
    if not ours:
        raise ValueError(f"there is no Lanebox endpoint in {output}: its blocks would be "
            f"{', '.join(ENDPOINT_BLOCKS)}")
    peer   = report.block_rows(stock_report(output/"stock", hard_block), "endpoint",
        ENDPOINT_BUDGET, prefix="stock/")
    return report.compare(ours, peer) + peer
