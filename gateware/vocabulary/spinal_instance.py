# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Makes the Migen Instance of a SpinalHDL component, and checks it against the component's ports.

PortsFile.scala writes a list of the ports beside the Verilog. So a layout in Python that repeats a
Bundle in Scala is checked as soon as an instance is made. A field that is missing, unknown or of
another width is an error then, and not a warning of Verilator or Vivado later."""

import json
from difflib import get_close_matches

from migen import *
from migen.fhdl.bitcontainer import bits_for, value_bits_sign

DIRECTIONS = {"i": "input", "o": "output", "io": "inout"}

class WrongPorts(ValueError):
    """The ports given for an Instance are not those of the component. The message has a line for
    each port that is wrong."""

def spinal_instance(verilog, left_open=None, domain="sys", **ports):
    """Makes the Instance of the SpinalHDL component in the file `verilog`, a path that
    tools.verilog.spinal_build.generate() returned. Raises WrongPorts if the ports do not fit.

    `ports` are as for Migen's Instance: i_NAME for an input, o_NAME for an output. The clock and
    the reset are those of the clock domain `domain`. Every port of the component must be given,
    with its direction and width. `left_open` maps the name of each output that nothing needs to the
    reason."""
    ports     = {"i_clk": ClockSignal(domain), "i_reset": ResetSignal(domain), **ports}
    left_open = left_open or {}
    component = read_ports(verilog)
    problems  = [
        *_given_problems(component, ports),
        *_missing_problems(component, ports, left_open),
        *_left_open_problems(component, ports, left_open),
    ]
    if problems:
        raise WrongPorts("\n".join(f"{verilog.stem}: {problem}" for problem in problems))
    return Instance(verilog.stem, **ports)

def read_ports(verilog):
    """Returns {port: (direction, width in bits)} of the component in the file `verilog`."""
    file = verilog.with_suffix(".ports.json")
    if not file.exists():
        raise WrongPorts(f"{verilog.stem}: SpinalHDL wrote no {file.name} beside its Verilog; "
            "generate it with LaneboxConfig, which does")
    return {port["name"]: (port["direction"], port["width"])
        for port in json.loads(file.read_text())["ports"]}

def _split(argument):
    """Returns the direction and the port of an Instance argument: `i_cq_valid` gives ("input",
    "cq_valid")."""
    prefix, _, name = argument.partition("_")
    return DIRECTIONS[prefix], name

def _names(ports):
    return {_split(argument)[1] for argument in ports}

def _nearest(name, names):
    """Returns the end of a sentence that names the one of `names` that is most similar to `name`;
    empty if none is similar."""
    near = get_close_matches(name, sorted(names), n=1)
    return f"; the nearest name is {near[0]}" if near else ""

def _given_problems(component, ports):
    for argument, value in ports.items():
        given, name = _split(argument)
        if name not in component:
            unused = component.keys() - _names(ports)
            yield f"there is no port {name}" + _nearest(name, unused or component)
            continue
        direction, width = component[name]
        if direction != given:
            yield f"port {name} is an {direction} and is connected as an {given}"
        if not _fits(value, width):
            yield f"port {name} has {width} bits and is connected to {_width(value)}"

def _width(value):
    return bits_for(value) if isinstance(value, int) else value_bits_sign(value)[0]

def _fits(value, width):
    """Returns whether `value` may be connected to a port of `width` bits. A signal must have
    exactly that width. A plain number has no width of its own, so it only has to fit."""
    return _width(value) <= width if isinstance(value, int) else _width(value) == width

def _missing_problems(component, ports, left_open):
    unknown = _names(ports) - component.keys()
    for name, (direction, _) in component.items():
        if name in _names(ports) or name in left_open:
            continue
        if direction == "output":
            yield (f"output {name} is left open: connect it, or name it in left_open with the "
                "reason" + _nearest(name, unknown))
        else:
            yield f"{direction} {name} is not connected" + _nearest(name, unknown)

def _left_open_problems(component, ports, left_open):
    outputs = {name for name, (direction, _) in component.items() if direction == "output"}
    for name, reason in left_open.items():
        if name not in outputs:
            yield f"left_open names {name}, which is no output" + _nearest(name, outputs)
        elif name in _names(ports):
            yield f"output {name} is connected, and left_open names it"
        elif not reason:
            yield f"left_open gives no reason for {name}"
