# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""targets/nets.py and the boards' tables: no pin twice, no unknown pin, ports as in Verilog."""

import importlib
import json
import re
import sys
from pathlib import Path

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT/"targets"))

import nets  # noqa: E402
import silicon  # noqa: E402

BOARDS = [importlib.import_module(f"{name}_platform").BOARD
    for name in ("ku5p", "as02mc04", "rk_xcku5p")]
BUILDS = [(board, lanes) for board in BOARDS for lanes in board.lanes]

KU5P = BOARDS[0]


def name(value):
    return value.name if isinstance(value, nets.Board) else f"x{value}"


@pytest.mark.parametrize("board", BOARDS, ids=name)
def test_no_pin_has_two_nets(board):
    """Every pin is a ball of the 676-ball package, and belongs to one net."""
    pins = [pin for net in board.nets for pin in net.pins.split()]
    assert len(pins) == len(set(pins))
    assert all(re.fullmatch(r"([A-HJ-NPRT-WY]|A[A-F])([1-9]|1\d|2[0-6])", pin) for pin in pins)


@pytest.mark.parametrize("board", BOARDS, ids=name)
def test_every_net_says_where_it_is_from(board):
    """A source for each; an unknown one has no pins, and says what is known instead."""
    for net in board.nets:
        assert net.confidence in (nets.HIGH, nets.INFERRED, nets.UNKNOWN) and net.source
        if net.confidence == nets.UNKNOWN:
            assert not net.pins and net.advice


@pytest.mark.parametrize("board, lanes", BUILDS, ids=name)
def test_the_halves_of_a_pair_are_neighbours(board, lanes):
    """Transceiver pins of a pair share their row: P2 and P1, AB7 and AB6."""
    ports = {port.partition(".")[2]: pins for port, pins, _ in board.resources(lanes)}
    for pair in ("clk", "rx", "tx"):
        positive, negative = ports[f"{pair}_p"], ports[f"{pair}_n"]
        assert len(positive) == (1 if pair == "clk" else lanes)
        for p, n in zip(positive, negative):
            assert p.rstrip("0123456789") == n.rstrip("0123456789")
            assert int(re.search(r"\d+", p)[0]) - int(re.search(r"\d+", n)[0]) == 1


def test_one_lane_uses_proven_pins_only():
    """x1 of the KU5P card is what was seen to work; more lanes are inferred."""
    proven = {pin for net in KU5P.nets if net.confidence == nets.HIGH for pin in net.pins.split()}
    def used(lanes):
        return {pin for _, pins, _ in KU5P.resources(lanes) for pin in pins}
    assert used(1) <= proven
    assert not used(4) <= proven
    assert used(4) < used(8)


@pytest.mark.parametrize("net, words", [
    ("system clock", "user clock"), ("qsfp.sidebands", "ModPrsL"), ("qsfp.refclk", "K7/K6"),
    ("flash", "STARTUPE3"),
])
def test_an_unknown_net_is_refused_with_what_is_known(net, words):
    """By the table and by LiteX's request alike: a sentence, not a missing key."""
    with pytest.raises(LookupError, match=f"KU5P card: {net} cannot be used.*{words}"):
        KU5P.net(net)
    with pytest.raises(LookupError, match=f"KU5P card: {net} cannot be used.*{words}"):
        silicon.make_platform(KU5P, 8).request(net)


def test_a_net_of_another_board_is_refused():
    """The message lists those that there are."""
    with pytest.raises(LookupError, match="KU5P card has no net 'sfp0': there are pcie.clk_p"):
        KU5P.net("sfp0")
    with pytest.raises(LookupError, match="KU5P card has no 2 lanes: choose 8 or 4 or 1"):
        KU5P.resources(2)


@pytest.mark.parametrize("board, lanes", [(KU5P, 8), (KU5P, 1), (BOARDS[2], 4)], ids=name)
def test_constraints_and_verilog_have_the_same_ports(board, lanes, tmp_path, monkeypatch):
    """Every bit of every port has a place, and nothing else has."""
    monkeypatch.setattr(sys, "argv", ["target", "--synth-only", "--lanes", str(lanes),
        "--endpoint", "litepcie", "--output-dir", str(tmp_path)])
    options   = silicon.parse_arguments(board, "")
    output, _ = silicon.build_gateware(board, options)
    constants = json.loads((output/"csr.json").read_text())["constants"]
    assert constants["config_clock_frequency"] == board.clock
    text   = (output/"gateware"/f"{board.name}.xdc").read_text()
    placed = re.findall(r"PACKAGE_PIN \S+ \[get_ports \{(.*?)\}\]", text)
    assert len(placed) == len(set(placed))
    assert set(placed) == verilog_ports(output/"gateware"/"lanebox.v")
    verilog = (output/"gateware"/"lanebox.v").read_text()
    for port in {port.partition("[")[0] for port in placed}:
        assert len(re.findall(rf"\b{port}\b", verilog)) > 1, f"{port} is connected to nothing"
    standards = re.findall(r"IOSTANDARD \S+ \[get_ports \{(.*?)\}\]", text)
    assert {port for port in placed if not re.search(r"_(clk|rx|tx)_[pn]", port)} == set(standards)


def verilog_ports(path):
    """The ports of the top module, bit by bit as constraints name them."""
    header = re.search(r"^module lanebox \((.*?)^\);", path.read_text(), re.MULTILINE | re.DOTALL)
    ports  = set()
    for width, port in re.findall(r"(?:input|output)\s+(?:wire|reg)?\s*(?:\[(\d+):0\])?\s*(\w+)",
            header.group(1)):
        ports |= {f"{port}[{n}]" for n in range(int(width) + 1)} if width else {port}
    return ports


def test_the_readers_table_is_that_of_the_build():
    """targets/README.md has the table as nets.markdown writes it."""
    assert nets.markdown(KU5P) in Path(ROOT/"targets"/"README.md").read_text()
