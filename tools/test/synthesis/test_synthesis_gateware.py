# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/synthesis/gateware.py and stock.py: the designs for Yosys, and their rows."""

import re

import pytest

from tools.synthesis import card, engines, gateware, monitor, report, stock, yosys
from tools.synthesis.depth import Path
from tools.synthesis.netlist import Usage
from tools.synthesis.yosys import Design
from tools.verilog import spinal_build


def found(**blocks):
    """Return a synthesis report in which each block has the number of LUTs given for its name.

    Each block has a path of 7 levels. The logic outside of blocks has one of 9 levels.
    """
    paths = [
        Path(9 if name == "rest" else 7, f"{name}.a", f"{name}.b", "clk", []) for name in blocks
    ]
    return report.Report(
        "Yosys 9.9",
        {name: Usage(lut=luts) for name, luts in blocks.items()},
        {"clk": paths},
        {},
        [],
        [],
    )


@pytest.fixture
def output(tmp_path, monkeypatch):
    """Make an output folder of a gateware build, as tools.verilog.build writes it, with a SpinalHDL
    component.
    """
    monkeypatch.setattr(spinal_build, "OUTPUT", tmp_path / "spinal")
    component = tmp_path / "spinal" / "Completer-012345"
    component.mkdir(parents=True)
    (tmp_path / "gateware").mkdir()
    for file in (
        component / "Completer.v",
        component / "Completer_rom.bin",
        tmp_path / "gateware" / "lanebox.v",
        tmp_path / "gateware" / "lanebox_mem.init",
    ):
        file.write_text("")
    (tmp_path / "gateware" / "sources.txt").write_text(
        f"{tmp_path}/gateware/lanebox.v\n{component}/Completer.v\n"
    )
    return tmp_path


def test_a_design_is_sources_contents_and_the_cores_pins(output):
    """The design for Yosys has the gateware's Verilog, the memory contents beside it, and the PCIe
    core as a black box.
    """
    design = gateware.make_design(output)
    assert {file.name for file in design.files} == {
        "lanebox.v",
        "lanebox_mem.init",
        "Completer.v",
        "Completer_rom.bin",
    }
    assert design.blocks == ["Completer"]
    assert design.black_boxes[0].startswith("(* blackbox *)\nmodule pcie_usp (")
    assert "import" not in design.black_boxes[0]


def test_the_rows_are_those_of_the_endpoint_beside_the_stock_one(output, monkeypatch):
    """The rows of a synthesis are those of Lanebox's endpoint and bridge, then those of LitePCIe's
    endpoint.
    """
    monkeypatch.setattr(gateware, "find_yosys", lambda: None)
    monkeypatch.setattr(
        gateware.report,
        "analyse",
        lambda *_: found(rest=5000, Completer=1000, **{"inner.Requester": 3000}),
    )
    monkeypatch.setattr(gateware, "stock_report", lambda *_: found(all=9000))
    rows = {entry["id"]: entry for entry in gateware.endpoint_rows(output)}
    assert set(rows) == {
        f"{prefix}{name}"
        for prefix in ("", "stock/")
        for name in (
            "area/endpoint/lut",
            "area/endpoint/lutram",
            "area/endpoint/bram",
            "depth/endpoint",
        )
    }
    assert rows["area/endpoint/lut"]["value"] == 4000
    assert rows["area/endpoint/lut"]["ratio"] == gateware.ENDPOINT_BUDGET["lut"] / 4000
    assert rows["area/endpoint/lut"]["vs"] == pytest.approx(4 / 9)
    assert rows["depth/endpoint"]["value"] == 7


def test_another_endpoint_has_no_such_rows(output, monkeypatch):
    """A build with another endpoint than Lanebox's gives no rows of Lanebox's endpoint."""
    assert gateware.own_rows(found(rest=5000)) == []
    monkeypatch.setattr(gateware, "find_yosys", lambda: None)
    monkeypatch.setattr(gateware.report, "analyse", lambda *_: found(rest=5000))
    with pytest.raises(ValueError, match="no Lanebox endpoint.*Requester, Completer"):
        gateware.endpoint_rows(output)


def test_the_stock_endpoint_has_all_of_its_ports(tmp_path):
    """In the design of LitePCIe's endpoint all its ports are driven or watched: Yosys would
    otherwise remove their logic.
    """
    top, *sources = stock.write_stock(tmp_path / "stock")
    text = top.read_text()
    widths = {
        name: int(width) + 1
        for width, name in re.findall(
            r"(?:input|output)\s+(?:wire|reg)?\s*\[(\d+):0\]\s*(drive|watch)", text
        )
    }
    assert widths["drive"] > 2 * 256 and widths["watch"] > 256
    assert any(source.endswith("pcie_usp_support.v") for source in sources)


def test_the_engines_have_all_of_their_ports(tmp_path):
    """In the design of the DMA engines all their ports are driven or watched: Yosys would otherwise
    remove their logic.
    """
    (top,) = engines.write_engines(tmp_path / "engines")
    text = top.read_text()
    widths = {
        name: int(width) + 1
        for width, name in re.findall(
            r"(?:input|output)\s+(?:wire|reg)?\s*\[(\d+):0\]\s*(drive|watch)", text
        )
    }
    assert widths["drive"] > 2 * 256 + 2 * 32 and widths["watch"] > 3 * 256 + 2 * 32


def test_the_rows_of_the_engines_have_no_limit(tmp_path, monkeypatch):
    """The rows of the DMA engines have values and no limit."""
    monkeypatch.setattr(gateware, "find_yosys", lambda: None)
    monkeypatch.setattr(gateware.report, "analyse", lambda *_: found(all=1800))
    rows = {entry["id"]: entry for entry in gateware.engine_rows(tmp_path)}
    assert rows["area/dma/lut"]["value"] == 1800
    assert rows["area/dma/lut"]["limit"] is rows["area/dma/lut"]["ratio"] is None
    assert rows["depth/dma"]["value"] == 7


def test_the_depth_of_all_is_that_of_a_mapping_for_depth(tmp_path, monkeypatch):
    """The row depth/flat is measured on a design without hierarchy, mapped for depth and not for
    area.
    """
    asked = []
    monkeypatch.setattr(gateware, "find_yosys", lambda: None)
    monkeypatch.setattr(
        gateware, "make_design", lambda *_: Design("lanebox", ["lanebox.v"], [], ["Requester"])
    )
    monkeypatch.setattr(
        gateware.report, "analyse", lambda design, *_: asked.append(design) or found(all=1)
    )
    (row,) = gateware.flat_rows(tmp_path)
    assert (row["id"], row["limit"], row["value"]) == ("depth/flat", 8, 7)
    assert asked[0].fast and not asked[0].blocks


def test_a_mapping_for_depth_wins_no_area_back():
    """The Yosys script for a mapping for depth leaves out the passes that save LUTs and add
    levels.
    """
    script = yosys._script(Design("lanebox", [], fast=True), ["lanebox.v"])
    assert "if,-F,0,-A,0" in script
    order = [
        script.index(text)
        for text in ("-run map_ffram:map_luts", "abc -lut 6", "lut_map.v", "-run finalize:edif")
    ]
    assert order == sorted(order) and "-run map_ffram:edif" not in script
    assert "abc" not in yosys._script(Design("lanebox", []), ["lanebox.v"])


def test_the_monitor_has_all_of_its_ports_and_a_budget(tmp_path, monkeypatch):
    """In the design of the user slot's monitor all its ports are driven. Its budget is 300 LUTs."""
    (top,) = monitor.write_monitor(tmp_path / "monitor")
    (width,) = re.findall(r"input\s+wire\s+\[(\d+):0\]\s+drive", top.read_text())
    # The driven ports have at least the bits of time, of bus data, and three signals of each
    # stream.
    assert int(width) + 1 > 64 + 32 + 2 * 3
    monkeypatch.setattr(gateware, "find_yosys", lambda: None)
    monkeypatch.setattr(gateware.report, "analyse", lambda *_: found(all=231))
    rows = {entry["id"]: entry for entry in gateware.monitor_rows(tmp_path)}
    assert rows["area/slot/lut"]["limit"] == 300 and rows["area/slot/lut"]["ratio"] > 1
    assert rows["depth/slot"]["limit"] == 8


def test_the_block_of_commands_is_synthesised_alone_and_has_a_budget(tmp_path, monkeypatch):
    """The design that commands_rows() synthesises is only the block that carries out the user
    slot's commands. Its budget is 1000 LUTs and eight levels.
    """
    designs = []

    def analyse(design, *_):
        designs.append(design)
        return found(all=927)

    verilog = tmp_path / "HostCommands.v"
    monkeypatch.setattr(gateware.spinal_build, "generate", lambda name: verilog)
    monkeypatch.setattr(gateware, "find_yosys", lambda: None)
    monkeypatch.setattr(gateware.report, "analyse", analyse)
    rows = {entry["id"]: entry for entry in gateware.commands_rows(tmp_path)}
    assert [(each.top, each.files) for each in designs] == [("HostCommands", [verilog])]
    assert rows["area/slot.commands/lut"]["limit"] == 1000
    assert rows["depth/slot.commands"]["limit"] == 8


def test_the_card_services_are_all_there_with_their_primitives(tmp_path, monkeypatch):
    """The design of the card services has the registers of all of them and the vendor's primitives
    behind these. The pins of the cages are its ports, and its budget is 2000 LUTs.
    """
    (top,) = card.write_card(tmp_path / "card")
    text = top.read_text()
    for primitive in ("STARTUPE3", "ICAPE3", "SYSMONE4"):
        assert len(re.findall(rf"^{primitive}\b", text, re.MULTILINE)) == 1, primitive
    for name in ("flash_page_data", "reboot_go", "_seen_r", "module0_read", "module1_read"):
        assert name in text, name
    (width,) = re.findall(r"input\s+wire\s+\[(\d+):0\]\s+drive", text)
    # Address, data and two strobes of the bus, and four inputs of each cage.
    assert int(width) + 1 == 14 + 32 + 2 + 2 * 4
    monkeypatch.setattr(gateware, "find_yosys", lambda: None)
    monkeypatch.setattr(gateware.report, "analyse", lambda *_: found(all=1480))
    rows = {entry["id"]: entry for entry in gateware.card_rows(tmp_path)}
    assert rows["area/card/lut"]["limit"] == 2000 and rows["area/card/lut"]["ratio"] > 1
    assert rows["depth/card"]["limit"] == 8
