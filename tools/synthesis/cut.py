# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Cuts registers, memories and instances off a module, so that its combinational logic is left.

What a cut cell drives becomes an input of the logic, and what drives the cell becomes an output.
Registers are simplified: one that always holds the same constant is removed, and copies become one.
"""

import hashlib
import json
from dataclasses import dataclass, field

# The values of constant bits in a netlist. Yosys' setundef leaves no other value.
CONSTANTS = ("0", "1")
# Cells in which each bit of the output depends only on the same bit of each operand.
BITWISE = ("$mux", "$and", "$or", "$xor", "$xnor", "$not")
STATE = ("$dff", "$mem_v2")
MEMORY_OUTPUTS = ("RD_DATA",)  # The output ports of a $mem_v2. All its other ports are inputs.
REGISTER = "register "


@dataclass
class Cut:
    """The combinational logic of a module, and the bits at which cells were cut off.

    `inputs` and `outputs` have the net of each bit, by the bit's name.
    """

    cells: dict
    inputs: dict = field(default_factory=dict)
    outputs: dict = field(default_factory=dict)
    # The facts that must be equal in both netlists: the parameters of each memory that was cut off,
    # by its name, and the clock edges of the registers.
    shapes: dict = field(default_factory=dict)
    # the module of each instance that was cut off, by the instance's name
    children: dict = field(default_factory=dict)


class Cones:
    """Computes, for each net of a part, a digest of the logic in front of it.

    No name of a register changes the digest. `known` has the name that a cut bit has on both sides.
    A net that depends on a cut bit without such a name has no digest.
    """

    def __init__(self, part):
        self.part, self.known, self.found = part, {}, {}
        self.driver = {
            bit: (cell, port, number)
            for cell in part.cells.values()
            for port, bits in cell["connections"].items()
            if cell["port_directions"][port] == "output"
            for number, bit in enumerate(bits)
        }

    def learn(self, known):
        """Add names of cut nets to `known`. All digests are forgotten, since they may change."""
        self.known = {**self.known, **known}
        self.found = {}

    def digest(self, bit):
        """Return a digest of the logic that drives the net, or None if it depends on a net without
        a known name.
        """
        if bit in CONSTANTS:
            return bit
        if bit not in self.found:
            self.found[bit] = self._digest(bit)
        return self.found[bit]

    def _digest(self, bit):
        if bit in self.known:
            return self.known[bit]
        if bit not in self.driver:
            return None
        cell, place, number = self.driver[bit]
        if cell["type"] in BITWISE:  # In a bitwise cell only this bit of each operand counts.
            parts, only = [cell["type"]], slice(number, number + 1)
        else:
            parts, only = [cell["type"], f"{place}[{number}]"], slice(None)
            parts.append(json.dumps(cell["parameters"], sort_keys=True))
        for port, bits in sorted(cell["connections"].items()):
            if cell["port_directions"][port] == "input":
                used = bits[only] if len(bits) > 1 and port != "S" else bits
                parts += [port, *(self.digest(each) for each in used)]
        if None in parts:
            return None
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def register_bits(part):
    """Return the net of each register bit once, with all names of that bit."""
    names = {}
    for name, bit in part.inputs.items():
        if name.startswith(REGISTER):
            names.setdefault(bit, []).append(name)
    return names


def data_of(part, names):
    """Return the net at the data input of the register bit that has these names."""
    return part.outputs[names[0]]


def net_names(module, renamed):
    """Return all names of each net as a list. A bit of a signal is called "signal[n]"."""
    names = {}
    for name, net in module["netnames"].items():
        if net["hide_name"]:
            continue
        for number, bit in enumerate(net["bits"]):
            names.setdefault(bit, []).append(f"{renamed.get(name, name)}[{number}]")
    return names


def cut(module, modules, renamed):
    """Return the combinational part of `module`.

    A register's bit is in the part under all names of the register.
    """
    names = net_names(module, renamed)
    part = Cut({})
    for name, port in module["ports"].items():
        side = part.inputs if port["direction"] == "input" else part.outputs
        for number, bit in enumerate(port["bits"]):
            side[f"port {renamed.get(name, name)}[{number}]"] = bit
    for name, cell in module["cells"].items():
        kind = cell["type"]
        if kind == "$dff":
            cut_register(part, cell, names)
        elif kind in STATE or kind in modules:
            cut_cell(part, renamed.get(name, name), cell, modules, renamed)
        else:
            part.cells[name] = cell
    drop_constants(part)
    merge_twins(part)
    return part


def cut_register(part, cell, names):
    """Cut a register off: its output becomes an input of the part, and its data an output."""
    for data, bit in zip(cell["connections"]["D"], cell["connections"]["Q"]):
        for name in names.get(bit, [f"unnamed register at net {bit}"]):
            part.inputs[f"{REGISTER}{name}"] = bit
            part.outputs[f"{REGISTER}{name}"] = data
    part.shapes["clocks"] = part.shapes.get("clocks", set()) | {cell["parameters"]["CLK_POLARITY"]}


def cut_cell(part, name, cell, modules, renamed):
    """Cut a memory or an instance off.

    Its outputs become inputs of the part, and its inputs become outputs.
    """
    kind = cell["type"]
    if kind in modules:
        ports = modules[kind]["ports"]
        drives = [port for port in ports if ports[port]["direction"] == "output"]
        part.children[name] = kind
        label = f"instance {name}"
    else:
        drives = MEMORY_OUTPUTS
        label = f"memory {cell['parameters']['MEMID']}"
        part.shapes[label] = {
            key: value for key, value in cell["parameters"].items() if key != "MEMID"
        }
    for port, bits in cell["connections"].items():
        side = part.inputs if port in drives else part.outputs
        shown = renamed.get(port, port)
        for number, bit in enumerate(bits):
            side[f"{label} {shown}[{number}]"] = bit


def substitute(part, values):
    """Replace nets of a part of the netlist by other nets, or by constants."""
    for cell in part.cells.values():
        for port, bits in cell["connections"].items():
            cell["connections"][port] = [values.get(bit, bit) for bit in bits]
    for side in (part.inputs, part.outputs):
        for name, bit in side.items():
            side[name] = values.get(bit, bit)


def constant(driver, bit):
    """Return "0" or "1" if the net is that constant, or a multiplexer of only that constant.

    Otherwise return None.
    """
    if bit in CONSTANTS:
        return bit
    cell, _, number = driver.get(bit, ({"type": ""}, "", 0))
    if cell["type"] != "$mux":
        return None
    choices = {cell["connections"][port][number] for port in "AB"}
    return choices.pop() if len(choices) == 1 and choices <= set(CONSTANTS) else None


def drop_constants(part):
    """Remove registers from the part that hold the same constant from the first clock on."""
    while True:
        data = {bit: data_of(part, names) for bit, names in register_bits(part).items()}
        driver = Cones(part).driver
        values = {bit: constant(driver, each) for bit, each in data.items()}
        values = {bit: value for bit, value in values.items() if value}
        if not values:
            return
        for name in [name for name, bit in part.inputs.items() if bit in values]:
            del part.inputs[name], part.outputs[name]
        substitute(part, values)


def merge_twins(part):
    """Merge registers of the part whose data is the same function of the same nets."""
    cones = Cones(part)
    cones.learn({bit: f"net {bit}" for bit in part.inputs.values()})
    first, same = {}, {}
    for bit, names in register_bits(part).items():
        same[bit] = first.setdefault(cones.digest(data_of(part, names)), bit)
    substitute(part, same)
