# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of equivalence.py: it proves a module equal to a rewritten one, and refuses another."""

import subprocess
import sys

import pytest

from tools.synthesis import equivalence
from tools.synthesis.yosys import find_yosys
from tools.testing.repository import ROOT

CHILD = """
module Child (input clk, input reset, input [7:0] up, output [7:0] down, output dead);
  reg [7:0] held; reg [3:0] seen;
  assign down = held; assign dead = ^seen;
  always @(posedge clk) begin
    held <= up + 8'd1; seen <= seen + 4'd1;
    if (reset) begin held <= 8'd0; seen <= 4'd0; end
  end
endmodule
"""
TOP = """
module Top (input clk, input reset, input [7:0] a, input [7:0] b, input we, output [7:0] z);
  wire [7:0] sum = a + b;
  wire [7:0] child_down; wire child_dead;
  reg [7:0] memory [0:15];
  Child child (.clk(clk), .reset(reset), .up(sum), .down(child_down), .dead(child_dead));
  always @(posedge clk) if (we) memory[a[3:0]] <= b;
  assign z = child_down ^ memory[b[3:0]];
endmodule
"""
# The Verilog of module CHILD with another order of operations, with another name, and without logic
# that is not used.
CHILD_AFTER = """
module Part (input clk, input reset, input [7:0] up, output [7:0] down);
  reg [7:0] kept;
  assign down = kept;
  always @(posedge clk) kept <= reset ? 8'd0 : 8'd2 + up - 8'd1;
endmodule
"""
TOP_AFTER = TOP.replace("a + b", "b + a").replace(" wire child_dead;", "")
TOP_AFTER = TOP_AFTER.replace(", .dead(child_dead)", "").replace("Child child", "Part child")


def prove(tmp_path, before, after, **renamed):
    (tmp_path / "old.v").write_text(before)
    (tmp_path / "new.v").write_text(after)
    lines = []
    equivalence.prove(
        tmp_path / "old.v", tmp_path / "new.v", renamed, find_yosys(), tell=lines.append
    )
    return lines


def test_a_rewritten_module_is_proven(tmp_path):
    """A module with other operators, another register name and no dead counter is proven equal."""
    lines = prove(tmp_path, CHILD + TOP, CHILD_AFTER + TOP_AFTER, held="kept")
    assert lines[0].startswith("Top: ") and "gone: instance child dead" not in lines[0]
    assert lines[1].startswith("Part: 16 bits are the same; gone: port dead, register seen")


MISTAKES = {
    "a constant": ("8'd2 + up", "8'd3 + up"),
    "the reset's value": ("reset ? 8'd0", "reset ? 8'd1"),
    "no reset": ("reset ? 8'd0 : ", ""),
    "the memory's address": ("memory[b[3:0]]", "memory[a[3:0]]"),
    "the memory's write": ("if (we)", "if (!we)"),
    "the memory's size": ("[0:15]", "[0:7]"),
    "an operand": ("b + a", "b - a"),
    "the edge": ("posedge clk) kept", "negedge clk) kept"),
    "an output": ("assign down = kept", "assign down = ~kept"),
    "one bit only": ("child_down ^", "(child_down & 8'h7f) ^"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_difference_is_refused(tmp_path, mistake):
    """Each change of what the hardware does raises Different, which names the module."""
    text = CHILD_AFTER + TOP_AFTER
    assert MISTAKES[mistake][0] in text
    with pytest.raises(equivalence.Different, match=r"^(Top|Part): "):
        prove(tmp_path, CHILD + TOP, text.replace(*MISTAKES[mistake]), held="kept")


EDGES = """
module Top (input clk, input a, output reg first, output reg second);
  always @(posedge clk) first <= a;
  always @(posedge clk) second <= ~a;
endmodule
"""


@pytest.mark.parametrize("register", ["first", "second"])
def test_the_edge_of_one_register_counts(tmp_path, register):
    """If one register uses the other clock edge, that is a difference, whichever register it is."""
    after = EDGES.replace(f"posedge clk) {register}", f"negedge clk) {register}")
    with pytest.raises(equivalence.Different, match="^Top: clocks has another shape"):
        prove(tmp_path, EDGES, after)


def test_what_is_used_cannot_be_gone(tmp_path):
    """A module is not proven equal if the rewritten one lacks a register that still decides an
    output.
    """
    after = CHILD.replace("held <= up", "held <= 8'd0 & up")
    with pytest.raises(equivalence.Different, match=r"^Child: the logic differs"):
        prove(tmp_path, CHILD + TOP, after + TOP)


def test_a_register_of_another_name_needs_its_old_one(tmp_path):
    """Without OLD=NEW the error names the register that has no counterpart. With OLD=NEW all is
    proven.

    A register that drives a port is found by the port's name.
    """
    after = CHILD.replace("seen", "counted") + TOP
    with pytest.raises(
        equivalence.Different, match=r"Child: register counted\[0\] has no counterpart"
    ):
        prove(tmp_path, CHILD + TOP, after)
    assert prove(tmp_path, CHILD + TOP, after, seen="counted")[1] == "Child: 21 bits are the same"


def test_the_program_says_what_it_has_proven(tmp_path):
    """The program equivalence.py ends with 0 for equal files, and with a sentence and 1 for
    different ones.
    """
    (tmp_path / "old.v").write_text(CHILD)
    (tmp_path / "new.v").write_text(CHILD.replace("8'd1", "8'd2"))
    command = [sys.executable, "-m", "tools.synthesis.equivalence", tmp_path / "old.v"]
    for name, status, said in (("old.v", 0, "Child: 21 bits"), ("new.v", 1, "the logic differs")):
        done = subprocess.run([*command, tmp_path / name], cwd=ROOT, capture_output=True, text=True)
        assert (done.returncode, said in done.stdout + done.stderr) == (status, True)


SHAPES = """
module Top (input clk, input reset, input [3:0] a, output [3:0] b, output [3:0] c);
  reg [3:0] wide; reg one, two; reg [3:0] count;
  assign b = count; assign c = {2'd0, two, one};
  always @(posedge clk) begin
    if (reset) begin wide <= 4'd0; one <= 1'b0; two <= 1'b0; count <= 4'd0; end
    else begin wide <= {3'd0, &a}; one <= a[0]; two <= a[0]; count <= count + wide; end
  end
endmodule
"""
# The rewritten module: one bit in place of four of which three are 0, and one register in place of
# two copies.
SHAPES_AFTER = """
module Top (input clk, input reset, input [3:0] a, output [3:0] b, output [3:0] c);
  reg _zz_1, both; reg [3:0] count;
  assign b = count; assign c = {2'd0, both, both};
  always @(posedge clk) begin
    if (reset) begin _zz_1 <= 1'b0; both <= 1'b0; count <= 4'd0; end
    else begin _zz_1 <= &a; both <= a[0]; if (_zz_1) count <= count + 4'd1; end
  end
endmodule
"""


def test_constant_bits_and_copies_may_go(tmp_path):
    """Bits that are always 0, and a second register with the same data, need no counterpart.

    A register without a name is found by the logic in front of it.
    """
    (line,) = prove(tmp_path, SHAPES, SHAPES_AFTER)
    assert line.startswith("Top: ")
    (line,) = prove(tmp_path, SHAPES_AFTER, SHAPES)
    assert line.startswith("Top: ")


@pytest.mark.parametrize(
    "wrong", [("&a", "|a"), ("both <= a[0]", "both <= a[1]"), ("count + 4'd1", "count + 4'd2")]
)
def test_a_difference_behind_other_shapes_is_refused(tmp_path, wrong):
    """A difference behind a register is found even if the register is matched by its logic.

    Such a register has no namesake in the other module.
    """
    with pytest.raises(equivalence.Different, match="^Top: "):
        prove(tmp_path, SHAPES, SHAPES_AFTER.replace(*wrong))


NUMBERS = """
module Top (input clk, input [1:0] a, output b, output c);
  reg _zz_1, _zz_2;
  assign b = _zz_1; assign c = ~_zz_2;
  always @(posedge clk) begin _zz_1 <= &a; _zz_2 <= |a; end
endmodule
"""


def test_numbers_of_what_has_no_name_may_change(tmp_path):
    """Two registers that SpinalHDL numbers in the other order are still matched and proven."""
    after = NUMBERS.replace("_zz_1", "_zz_3").replace("_zz_2", "_zz_1").replace("_zz_3", "_zz_2")
    (line,) = prove(tmp_path, NUMBERS, after)
    assert line.startswith("Top: ")


def test_a_module_may_be_passed_over(tmp_path):
    """A module named by --pass-over may differ and is named in the result. All other modules are
    proven.
    """
    (tmp_path / "old.v").write_text(CHILD + TOP)
    (tmp_path / "new.v").write_text(CHILD.replace("8'd1", "8'd2") + TOP)
    lines = []
    files = (tmp_path / "old.v", tmp_path / "new.v")
    equivalence.prove(*files, {}, find_yosys(), tell=lines.append, passed_over=["Child"])
    assert lines[1] == "Child: not proven, as you asked" and lines[0].startswith("Top: ")
