# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Reads a flat netlist that Yosys has written in JSON: cells, names, and primitives."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from tools.synthesis import primitives


@dataclass
class Cell:
    """A cell of a netlist from Yosys, with the nets at its input and output pins."""

    name: str
    kind: str
    inputs: dict
    outputs: dict


class Netlist:
    """The cells of the one module that is left after flattening, and the names of its nets."""

    def __init__(self, module):
        self.ports = {
            direction: {
                name: port["bits"]
                for name, port in module["ports"].items()
                if port["direction"] == direction
            }
            for direction in ("input", "output")
        }
        self.cells = [
            self._cell(name, cell)
            for name, cell in module["cells"].items()
            if cell["type"] != "$scopeinfo"
        ]
        self._names = self._name_bits(module["netnames"])
        self._name_pads()

    @staticmethod
    def load(filename, top):
        """Return the Netlist of the module `top` in Yosys' JSON file `filename`."""
        return Netlist(json.loads(Path(filename).read_text())["modules"][top])

    @staticmethod
    def _cell(name, cell):
        outputs = {pin for pin, way in cell["port_directions"].items() if way != "input"}
        pins = cell["connections"].items()
        return Cell(
            # Yosys writes `$flatten\outer.\inner.cell` for a cell of a block inside a block.
            name.replace("$flatten", "").replace("\\", ""),
            cell["type"],
            inputs={pin: bits for pin, bits in pins if pin not in outputs},
            outputs={pin: bits for pin, bits in pins if pin in outputs},
        )

    @staticmethod
    def _name_bits(netnames):
        """Return all names of each bit.

        Names from the source come first, and shorter names before longer ones.
        """
        names = {}
        for name, net in netnames.items():
            for index, bit in enumerate(net["bits"]):
                text = f"{name}[{index}]" if len(net["bits"]) > 1 else name
                names.setdefault(bit, []).append((bool(net.get("hide_name")), len(text), text))
        return {bit: sorted(found) for bit, found in names.items()}

    def _name_pads(self):
        """Give a pin's name also to the nameless signal on the other side of the pin's buffer."""
        for cell in self.cells:
            if primitives.PAD.match(cell.kind):
                before, behind = cell.inputs["I"][0], cell.outputs["O"][0]
                for bit, other in ((before, behind), (behind, before)):
                    if not self.names(bit):
                        self._names[bit] = self._names.get(other, []) + self._names.get(bit, [])

    def name(self, bit):
        """Return the best name of a bit of the netlist. The name of a constant is its value."""
        return self._names[bit][0][2] if bit in self._names else str(bit)

    def names(self, bit):
        """Return the names of a bit that come from the Verilog source and not from Yosys."""
        return [text for hidden, _, text in self._names.get(bit, []) if not hidden]


# Utilisation --------------------------------------------------------------------------------------


@dataclass
class Usage:
    """How many primitives of the FPGA a design or a block uses.

    `lut` are LUTs with logic, `lutram` are LUTs that hold data.
    """

    lut: int = 0
    lutram: int = 0
    ff: int = 0
    carry: int = 0
    bram: float = 0  # the number of block RAMs, in units of RAMB36
    uram: int = 0
    dsp: int = 0
    other: dict = field(default_factory=dict)

    def add(self, kind):
        """Count one cell of the netlist, of the primitive `kind`."""
        if primitives.LUT.match(kind):
            self.lut += 1
        elif primitives.is_lutram(kind):
            self.lutram += primitives.LUTRAM_LUTS[kind]
        elif primitives.FF.match(kind):
            self.ff += 1
        elif primitives.CARRY.match(kind):
            self.carry += 1
        elif kind in primitives.BRAM36:
            self.bram += primitives.BRAM36[kind]
        elif kind in primitives.URAM:
            self.uram += primitives.URAM[kind]
        elif kind.startswith("DSP48"):
            self.dsp += 1
        else:
            self.other[kind] = self.other.get(kind, 0) + 1


def usage(netlist, blocks=()):
    """Return the Usage of each block, by the block's instance path.

    A cell counts for its innermost block. "" has the cells that are in no block.
    """
    found = {block: Usage() for block in [*sorted(blocks), ""]}
    inner = sorted(blocks, key=len, reverse=True)
    for cell in netlist.cells:
        block = next((block for block in inner if cell.name.startswith(f"{block}.")), "")
        found[block].add(cell.kind)
    return found


def latches(netlist):
    """Return the names of all latches. A good netlist has none."""
    return [cell.name for cell in netlist.cells if primitives.LATCH.match(cell.kind)]
