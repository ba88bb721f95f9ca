# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/verilog/litex_verilog.py, which changes LiteX's Verilog for Verilator."""

import importlib
import re
import subprocess

import pytest
from migen import Case, ClockDomain, If, Module, Signal

from tools.verilog.litex_verilog import simulation_verilog

litex = importlib.import_module("litex.gen.fhdl.verilog")


class Everything(Module):
    """A Migen design with each kind of combinational assignment: constant, plain, conditional,
    sliced, by case.
    """

    def __init__(self):
        self.clock_domains.cd_sys = ClockDomain()
        self.a, self.b = [Signal(8, name=name) for name in "ab"]
        self.outputs = constant, wire, chosen, sliced, cased, register = [
            Signal(8, reset=3, name=name)
            for name in ("constant", "wire", "chosen", "sliced", "cased", "register")
        ]
        inner = Signal(8, reset=5, name="inner")
        self.comb += [
            constant.eq(0),
            constant.eq(1),
            wire.eq(self.a ^ self.b),
            If(self.a <= self.b, chosen.eq(self.a)),
            sliced[:4].eq(self.a[4:]),
            sliced[4:].eq(self.b[:4]),
            Case(self.a[:2], {0: cased.eq(self.b), "default": cased.eq(7)}),
            If(self.a[0], inner.eq(self.b)),
        ]
        self.sync += register.eq(inner)

    def ios(self):
        return {self.a, self.b, self.cd_sys.clk, self.cd_sys.rst, *self.outputs}


def emit():
    dut = Everything()
    return litex.convert(dut, dut.ios(), name="everything").main_source


def blocks(verilog):
    """Return the bodies of the always_comb blocks in a Verilog text."""
    return re.findall(r"^always_comb begin\n(.*?)^end\n", verilog, re.DOTALL | re.MULTILINE)


def test_every_combinational_block_is_always_comb():
    """Each `always @(*)` of LiteX's Verilog becomes an always_comb."""
    plain = emit()
    with simulation_verilog():
        verilog = emit()
    assert "always @(*)" not in verilog
    assert len(blocks(verilog)) == plain.count("always @(*)") == 5
    assert verilog.count("assign ") == plain.count("assign ")


def test_combinational_assignments_block():
    """In LiteX's Verilog for the simulation the assignments in an always_comb are blocking. `<=`
    remains as a comparison and for registers.
    """
    with simulation_verilog():
        verilog = emit()
    for block in blocks(verilog):
        assert not re.search(r"^\s*[\w\[\]:{}, ]+ <= ", block, re.MULTILINE), block
    assert "(a <= b)" in verilog
    assert re.search(r"^\s*register <= ", verilog, re.MULTILINE)


def test_reset_values_are_set_in_the_block_alone():
    """In LiteX's Verilog for the simulation a combinational signal gets its reset value in its
    always_comb, not where it is declared.
    """
    with simulation_verilog():
        verilog = emit()
    assert any(block.startswith("    inner = 8'd5;\n") for block in blocks(verilog))
    assert re.search(r"^reg +\[7:0\] inner;", verilog, re.MULTILINE)
    assert "output reg     [7:0] register" in verilog


def test_statements_are_those_litex_emits():
    """The Verilog for the simulation differs from LiteX's own only in the kinds of block and of
    assignment.
    """

    def neutral(verilog):
        verilog = verilog.replace("always_comb", "always @(*)")
        verilog = re.sub(r"^(\s*[\w\[\]:]+) <= ", r"\1 = ", verilog, flags=re.MULTILINE)
        return re.sub(r"// Date.*|// +Auto-Gen.*", "", verilog)

    plain = emit()
    with simulation_verilog():
        verilog = emit()
    assert neutral(verilog).replace("inner;", "inner = 8'd5;", 1) == neutral(plain)


def test_litex_is_itself_again_afterwards():
    """After the context simulation_verilog(), also if an error ended it, LiteX emits its own
    Verilog again.
    """
    before = emit()
    with pytest.raises(KeyError), simulation_verilog():
        raise KeyError
    assert blocks(emit()) == [] and emit().count("always @(*)") == before.count("always @(*)")


def test_verilator_finds_one_driver_per_signal(tmp_path):
    """In the simulation's Verilog, Verilator reports no second driver, no block that never runs, no
    latch.
    """
    with simulation_verilog():
        (tmp_path / "everything.v").write_text(emit())
    lint = subprocess.run(
        ["verilator", "--lint-only", "-Wall", "-Wno-fatal", tmp_path / "everything.v"],
        capture_output=True,
        text=True,
    )
    assert lint.returncode == 0, lint.stderr
    for warning in ("MULTIDRIVEN", "ALWNEVER", "COMBDLY", "LATCH", "PROCASSINIT"):
        assert warning not in lint.stderr, lint.stderr
