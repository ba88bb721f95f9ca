# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""synthesis/gateware.py and stock.py: what goes into Yosys, and which rows come out."""

import re

import pytest
from repository import ROOT

from lanebox import spinal_build
from lanebox.synthesis import engines, gateware, report, stock
from lanebox.synthesis.depth import Path
from lanebox.synthesis.netlist import Usage

HARD_BLOCK = ROOT/"sim"/"board"/"pcie4"/"pcie_usp.sv"


def found(**blocks):
    """A report with these LUTs by block, and a path of 7 levels in each, 9 in the rest."""
    paths = [Path(9 if name == "rest" else 7, f"{name}.a", f"{name}.b", "clk", [])
        for name in blocks]
    return report.Report("Yosys 9.9", {name: Usage(lut=luts) for name, luts in blocks.items()},
        {"clk": paths}, {}, [], [])


@pytest.fixture
def output(tmp_path, monkeypatch):
    """A folder as lanebox.build writes it, with a SpinalHDL component in it."""
    monkeypatch.setattr(spinal_build, "OUTPUT", tmp_path/"spinal")
    component = tmp_path/"spinal"/"Completer-012345"
    component.mkdir(parents=True)
    (tmp_path/"gateware").mkdir()
    for file in (component/"Completer.v", component/"Completer_rom.bin",
            tmp_path/"gateware"/"lanebox.v", tmp_path/"gateware"/"lanebox_mem.init"):
        file.write_text("")
    (tmp_path/"gateware"/"sources.txt").write_text(
        f"{tmp_path}/gateware/lanebox.v\n{component}/Completer.v\n")
    return tmp_path


def test_a_design_is_sources_contents_and_the_cores_pins(output):
    """Memory contents lie beside their Verilog; SpinalHDL's components are blocks."""
    design = gateware.make_design(output, HARD_BLOCK)
    assert {file.name for file in design.files} == {
        "lanebox.v", "lanebox_mem.init", "Completer.v", "Completer_rom.bin"}
    assert design.blocks == ["Completer"]
    assert design.black_boxes[0].startswith("(* blackbox *)\nmodule pcie_usp (")
    assert "import" not in design.black_boxes[0]


def test_the_rows_are_those_of_the_endpoint_beside_the_stock_one(output, monkeypatch):
    """The blocks of endpoint and bridge count, wherever they are; DMA and registers do not."""
    monkeypatch.setattr(gateware, "find_yosys", lambda: None)
    monkeypatch.setattr(gateware.report, "analyse",
        lambda *_: found(rest=5000, Completer=1000, **{"inner.Requester": 3000}))
    monkeypatch.setattr(gateware, "stock_report", lambda *_: found(all=9000))
    rows = {entry["id"]: entry for entry in gateware.endpoint_rows(output, HARD_BLOCK)}
    assert set(rows) == {f"{prefix}{name}" for prefix in ("", "stock/")
        for name in ("area/endpoint/lut", "area/endpoint/lutram", "area/endpoint/bram",
            "depth/endpoint")}
    assert rows["area/endpoint/lut"]["value"] == 4000
    assert rows["area/endpoint/lut"]["ratio"] == gateware.ENDPOINT_BUDGET["lut"]/4000
    assert rows["area/endpoint/lut"]["vs"] == pytest.approx(4/9)
    assert rows["depth/endpoint"]["value"] == 7


def test_another_endpoint_has_no_such_rows(output, monkeypatch):
    """Nothing is reported for blocks that are not there."""
    assert gateware.own_rows(found(rest=5000)) == []
    monkeypatch.setattr(gateware, "find_yosys", lambda: None)
    monkeypatch.setattr(gateware.report, "analyse", lambda *_: found(rest=5000))
    with pytest.raises(ValueError, match="no Lanebox endpoint.*Requester, Completer"):
        gateware.endpoint_rows(output, HARD_BLOCK)


def test_the_stock_endpoint_has_all_of_its_ports(tmp_path):
    """A port that nothing drives or watches would be optimised away with what leads there."""
    top, *sources = stock.write_stock(tmp_path/"stock")
    text   = top.read_text()
    widths = {name: int(width) + 1 for width, name in
        re.findall(r"(?:input|output)\s+(?:wire|reg)?\s*\[(\d+):0\]\s*(drive|watch)", text)}
    assert widths["drive"] > 2*256 and widths["watch"] > 256
    assert any(source.endswith("pcie_usp_support.v") for source in sources)


def test_the_engines_have_all_of_their_ports(tmp_path):
    """Registers, both streams and both ports of the endpoint: nothing is optimised away."""
    (top,) = engines.write_engines(tmp_path/"engines")
    text   = top.read_text()
    widths = {name: int(width) + 1 for width, name in
        re.findall(r"(?:input|output)\s+(?:wire|reg)?\s*\[(\d+):0\]\s*(drive|watch)", text)}
    assert widths["drive"] > 2*256 + 2*32 and widths["watch"] > 3*256 + 2*32


def test_the_rows_of_the_engines_have_no_limit(tmp_path, monkeypatch):
    """What they take is told, and compared with nothing."""
    monkeypatch.setattr(gateware, "find_yosys", lambda: None)
    monkeypatch.setattr(gateware.report, "analyse", lambda *_: found(all=1800))
    rows = {entry["id"]: entry for entry in gateware.engine_rows(tmp_path)}
    assert rows["area/dma/lut"]["value"] == 1800
    assert rows["area/dma/lut"]["limit"] is rows["area/dma/lut"]["ratio"] is None
    assert rows["depth/dma"]["value"] == 7
