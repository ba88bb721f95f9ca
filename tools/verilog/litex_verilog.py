# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Make LiteX 2024.12 emit combinational logic that every simulator runs as it was meant.

For a signal that is constant LiteX 2024.12 emits `always @(*) begin x <= 0; x <= 1; end`. Such a
block reads no signal, so its sensitivity list is empty, and Verilator from 5.040 on never runs it:
`x` keeps its initial 0. LitePCIe's address decoder is such a constant 1, and would never see a
request. `always_comb` runs once at time zero whatever it reads, so it is used instead.
`always_comb` requires blocking assignments, and that its signals have no initial value.

The Verilog for vendor tools is left as LiteX emits it.
"""

import importlib
from contextlib import contextmanager

from migen.fhdl.tools import group_by_targets

# `import litex.gen.fhdl.verilog as litex` would give Migen's module, because of a star import in
# litex.gen.
litex = importlib.import_module("litex.gen.fhdl.verilog")


def _is_block(statements):
    return not litex._use_wire(statements)


def _comb_block(ns, targets, statements):
    text = "always_comb begin\n"
    for target in sorted(targets, key=ns.get_name):
        reset = litex._generate_expression(ns, target.reset)[0]
        text += f"{litex._tab}{ns.get_name(target)} = {reset};\n"
    text += litex._generate_node(ns, litex.AssignType.BLOCKING, 1, statements)
    return text + "end\n"


def _comb_logic(f, ns):
    text = ""
    for targets, statements in group_by_targets(f.comb) if f.comb else []:
        if _is_block(statements):
            text += _comb_block(ns, targets, statements)
        else:
            text += "assign "
            text += litex._generate_node(ns, litex.AssignType.BLOCKING, 0, statements[0])
    return text + "\n"


def _without_initial_values(emit_signals):
    """Return LiteX's function `emit_signals`, which declares signals, with one change.

    A signal that an always_comb drives gets no initial value, because that would be a second
    driver.
    """

    def emit(f, ios, name, ns, attr_translate, regs_init):
        driven = (
            {
                ns.get_name(target)
                for targets, statements in group_by_targets(f.comb)
                if _is_block(statements)
                for target in targets
            }
            if f.comb
            else set()
        )
        text = ""
        for line in emit_signals(f, ios, name, ns, attr_translate, regs_init).splitlines():
            declared, equals, _ = line.partition(" = ")
            if equals and declared.split()[-1] in driven:
                line = declared + ";"
            text += line + "\n"
        return text

    return emit


@contextmanager
def simulation_verilog():
    """Return a context in which LiteX emits Verilog for simulation, with always_comb."""
    names = ("_generate_combinatorial_logic_synth", "_generate_signals")
    original = {name: getattr(litex, name) for name in names}
    litex._generate_combinatorial_logic_synth = _comb_logic
    litex._generate_signals = _without_initial_values(original["_generate_signals"])
    try:
        yield
    finally:
        for name, function in original.items():
            setattr(litex, name, function)
