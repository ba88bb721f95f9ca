# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/synthesis: Yosys on small designs with each kind of memory and of problem."""

import json
import subprocess
import sys

import pytest

from tools.synthesis import report
from tools.synthesis.memories import Memory
from tools.synthesis.yosys import Design, Yosys, black_box, find_yosys, run_bounded, synthesise

# A design without mistakes. It has a register file in LUTRAM, a buffer in block RAM, a store in
# UltraRAM in a block of its own, a table that is never written, and a vendor core.
SOUND = """
module store (input clk, input we, input [11:0] a, input [71:0] d, output reg [71:0] q);
    (* ram_style = "ultra" *) reg [71:0] ultra [0:4095];
    always @(posedge clk) begin
        if (we) ultra[a] <= d;
        q <= ultra[a];
    end
endmodule

module sound (input clk, input we, input [11:0] a, input [71:0] d,
    output reg [71:0] q, output [71:0] stored, output reg [7:0] file_q, output reg [3:0] table_q,
    output answer);
    reg [71:0] buffer [0:511];
    reg [7:0]  file [0:63];
    reg [3:0]  squares [0:15];
    integer    n;
    initial for (n = 0; n < 16; n = n + 1) squares[n] = n*n;
    always @(posedge clk) begin
        if (we) buffer[a[8:0]] <= d;
        q <= buffer[a[8:0]];
        if (we) file[a[5:0]] <= d[7:0];
        file_q  <= file[a[11:6]];
        table_q <= squares[a[3:0]];
    end
    store inner (.clk(clk), .we(we), .a(a), .d(d), .q(stored));
    vendor_core core (.clk(clk), .question(^q[11:0]), .answer(answer));
endmodule
"""

CORE = """
// A model, of which synthesis wants the pins.
module vendor_core (
    input      clk, question,
    output reg answer = 1'b0
);
    always @(posedge clk) answer <= ~question;
endmodule
"""

# A design with mistakes: two write ports with an asynchronous read, a latch, a net without a
# driver, a memory that cannot be block RAM, and an UltraRAM with contents.
UNSOUND = """
module unsound (input clk, input we, input [7:0] a, b, input [7:0] d,
    output [7:0] two, output reg held, output loose, output [7:0] asked, output reg [7:0] ultra_q);
    reg [7:0] shared [0:63];
    (* ram_style = "block" *) reg [7:0] slow [0:63];
    (* ram_style = "ultra" *) reg [7:0] full [0:4095];
    wire floating;
    initial full[3] = 8'd7;
    always @(posedge clk) begin
        if (we) shared[a[5:0]] <= d;
        if (we) shared[b[5:0]] <= ~d;
        if (we) full[{a[3:0], b}] <= d;
        ultra_q <= full[{b[3:0], a}];
    end
    always @* if (we) held = d[0];
    assign two   = shared[d[5:0]];
    assign asked = 8'd0;
    assign loose = floating ^ d[1];
endmodule
"""


SINGLE_PORT = """module single(input clk, we, input [5:0] a, input [7:0] d, output [7:0] q);
    (* ram_style = "distributed" *) reg [7:0] store [0:63];
    always @(posedge clk) if (we) store[a] <= d;
    assign q = store[a];
endmodule
"""


@pytest.fixture(scope="module")
def yosys():
    return find_yosys()


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Write the Verilog of a design without mistakes into a folder, and return its Design."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "sound.v").write_text(SOUND)
    return Design("sound", [folder / "sound.v"], [black_box(CORE, "vendor_core")], ["store"])


@pytest.fixture(scope="module")
def synthesised(sound, yosys, tmp_path_factory):
    """Return the report of the design without mistakes, and the folder with its netlist."""
    folder = tmp_path_factory.mktemp("netlist") / "sound"
    return report.analyse(sound, folder, yosys), folder


def test_every_memory_became_what_it_should(synthesised):
    """In the synthesis each memory becomes the kind that its attribute, its size or its read port
    calls for.
    """
    kinds = {memory.path: memory.kind for memory in synthesised[0].memories}
    assert kinds == {"inner.ultra": "uram", "buffer": "bram", "file": "lutram", "squares": "logic"}
    assert synthesised[0].problems == []


def test_usage_is_told_by_block(synthesised):
    """The report of a synthesis counts primitives for each named block, for the rest, and in
    total.
    """
    blocks = synthesised[0].blocks
    assert blocks["inner"].uram == 1 and blocks[""].uram == 0
    assert blocks[""].bram == 1 and blocks["inner"].bram == 0
    assert blocks[""].lutram == 16, "each RAM64M8 holds 7 bits and takes 8 LUTs"
    assert blocks[""].other["vendor_core"] == 1
    assert synthesised[0].total("uram") == 1
    assert synthesised[0].total("uram", [""]) == 0


def test_the_path_through_the_parity_is_found(synthesised):
    """In the report the parity of 12 bits takes two LUT levels, and its path ends at the vendor
    core.
    """
    path = synthesised[0].deepest("clk")
    assert path.levels == 2 and path.end == "core.question"


def test_it_runs_once_per_state_of_its_inputs(sound, yosys, tmp_path):
    """Yosys runs again only after a change of its inputs or version, or if a result is missing."""
    calls = tmp_path / "calls"
    program = tmp_path / "yosys"
    program.write_text(
        f"#!/bin/sh\necho run >> {calls}\n"
        "touch netlist.edif netlist.v flat.json memories.json leftover.json yosys.log\n"
    )
    program.chmod(0o755)
    fake = Yosys(str(program), "Yosys 9.9")
    folder = tmp_path / "out"
    assert synthesise(sound, folder, fake) and not synthesise(sound, folder, fake)
    (folder / "flat.json").unlink()
    assert synthesise(sound, folder, fake)
    assert synthesise(sound, folder, Yosys(str(program), "Yosys 10.0"))
    assert synthesise(Design("sound", sound.files, sound.black_boxes), folder, fake)
    assert calls.read_text().count("run") == 4


@pytest.mark.soak
def test_the_same_sources_give_the_same_bytes_elsewhere(synthesised, sound, yosys, tmp_path):
    """The same sources in another folder give the same bytes: the netlist has no path or date."""
    moved = tmp_path / "moved" / "sound.v"
    moved.parent.mkdir()
    moved.write_text(SOUND)
    synthesise(Design("sound", [moved], sound.black_boxes, sound.blocks), tmp_path / "x", yosys)
    for name in ("netlist.edif", "netlist.v", "flat.json"):
        assert (tmp_path / "x" / name).read_bytes() == (synthesised[1] / name).read_bytes(), name


def test_all_that_is_never_meant_is_a_problem(yosys, tmp_path):
    """A latch, a net without a driver and a memory made of registers are problems of the report."""
    text = UNSOUND.replace('(* ram_style = "ultra" *)', "")
    (tmp_path / "unsound.v").write_text(text)
    found = report.analyse(Design("unsound", [tmp_path / "unsound.v"]), tmp_path / "out", yosys)
    said = "\n".join(found.problems)
    assert "a latch" in said
    assert "floating" in said and "no driver" in said
    assert "shared (64 x 8 bit): became registers" in said
    assert "full" not in said, "a block RAM with contents is no problem"


def test_single_port_lutram_is_told_as_lutram(yosys, tmp_path):
    """A memory that is read and written at one address becomes a LUTRAM for each bit, and this is
    no problem.
    """
    (tmp_path / "single.v").write_text(SINGLE_PORT)
    found = report.analyse(Design("single", [tmp_path / "single.v"]), tmp_path / "out", yosys)
    assert [memory.kind for memory in found.memories] == ["lutram"]
    assert found.total("lutram") == 8 and found.problems == []


def test_an_ultraram_with_contents_is_refused(yosys, tmp_path):
    """An UltraRAM with initial contents, which silicon does not have, is an error of Yosys."""
    (tmp_path / "unsound.v").write_text(UNSOUND)
    with pytest.raises(RuntimeError, match="no valid mapping found for memory unsound.full"):
        synthesise(Design("unsound", [tmp_path / "unsound.v"]), tmp_path / "out", yosys)


@pytest.mark.parametrize(
    "style, became, initialised, words",
    [
        ("ultra", "RAMB36E2", False, "(* ram_style = 'ultra' *) became bram"),
        ("ultra", "URAM288", True, "UltraRAM has no initial contents"),
        ("block", "RAM64M8", False, "(* ram_style = 'block' *) became lutram"),
        ("", None, False, "became registers"),
    ],
)
def test_a_memory_that_became_something_else_is_a_problem(style, became, initialised, words):
    """A memory of the wrong kind is a problem: a sentence with name, size and attribute."""
    memory = Memory("a.store", 72, 4096, style, True, initialised, {became: 1} if became else {})
    assert memory.problem.startswith("a.store (4096 x 72 bit): ") and words in memory.problem


def test_an_error_of_yosys_is_shown(yosys, tmp_path):
    """An error of Yosys is shown with the line of its log that has it, and with the path of the
    log.
    """
    (tmp_path / "broken.v").write_text("module broken; missing_module m (); endmodule")
    with pytest.raises(RuntimeError, match="see .*yosys.log:\n.*missing_module"):
        synthesise(Design("broken", [tmp_path / "broken.v"]), tmp_path / "out", yosys)


def test_a_run_ends_by_its_own_processor_time(tmp_path):
    """A Yosys that computes for longer than its bound is ended with an error. The time in which it
    waits does not count, as if other programs had the processor.
    """

    def program(name, text):
        file = tmp_path / name
        file.write_text(f"#!{sys.executable}\n{text}\n")
        file.chmod(0o755)
        return Yosys(str(file), "Yosys 1")

    waits = program("waits", "import sys, time; time.sleep(1.5); print(sys.argv[1])")
    done = run_bounded(waits, ["said"], tmp_path, 1)
    assert (done.returncode, done.stdout) == (0, "said\n")
    with pytest.raises(subprocess.TimeoutExpired):
        run_bounded(program("computes", "while True: pass"), [], tmp_path, 1)


def test_two_sources_of_one_name_are_refused(yosys, tmp_path):
    """Two sources of the same file name are refused: Yosys' folder could have only one."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.v").touch()
    files = [tmp_path / "a" / "same.v", tmp_path / "b" / "same.v"]
    with pytest.raises(ValueError, match="two sources are called same.v"):
        synthesise(Design("same", files), tmp_path / "out", yosys)


def test_a_black_box_has_pins_and_nothing_else():
    """A black box has ports without body or initial values, and its link pads get no buffers."""
    text = black_box(CORE.replace("input      clk", "output pci_exp_txp, input clk"), "vendor_core")
    assert "always" not in text and "1'b0" not in text and "reg" not in text
    assert "(* iopad_external_pin *) output pci_exp_txp" in text
    with pytest.raises(ValueError, match="no module other"):
        black_box(CORE, "other")


def test_rows_have_limit_and_ratio(synthesised):
    """In the report a row of the whole part has the share of the part that is used. A row with a
    budget has budget / value as its ratio.
    """
    found = {
        entry["id"]: entry for entry in report.part_rows(synthesised[0], "xcku5p", {"clk": "pcie"})
    }
    assert found["area/uram"]["value"] == 1 and found["area/uram"]["ratio"] == 1 / 64
    assert found["depth/pcie"]["value"] == 2
    assert found["depth/pcie"]["conditions"]["to"] == "core.question"

    ours = report.block_rows(synthesised[0], "store", {"uram": 2}, ["inner"])
    theirs = report.block_rows(synthesised[0], "store", {"uram": 2}, ["inner"], prefix="stock/")
    report.compare(ours, theirs)
    assert ours[0] == {
        "id": "area/store/uram",
        "value": 1,
        "unit": "URAM",
        "limit": 2,
        "binds": "budget",
        "ratio": 2,
        "vs": 1,
    }
    assert theirs[0]["id"] == "stock/area/store/uram"


def test_the_report_can_be_read_again(synthesised, tmp_path):
    """The file report.json of a synthesis has rows as in results.json, and blocks, paths and
    memories.
    """
    rows = report.part_rows(synthesised[0], "xcku5p", {"clk": "pcie"})
    report.write(synthesised[0], rows, tmp_path / "a" / "report.json")
    text = json.loads((tmp_path / "a" / "report.json").read_text())
    assert text["schema"] == 1 and text["results"] == rows
    assert text["blocks"]["inner"]["uram"] == 1
    assert text["paths"]["clk"][0]["end"] == "core.question"
    table = report.table(synthesised[0], "xcku5p")
    assert "inner" in table and "core.question" in table and "problems" not in table
