# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of the boards' tables of nets, and of the pins that a build of a board has.

The table itself, targets/nets.py, is tested in test_nets.py.
"""

import importlib
import json
import re
import sys
from pathlib import Path

import pytest

from bringup.ffvb676 import BANKS, HIGH_DENSITY
from targets import nets, options, pads, silicon, silicon_gateware
from tools.testing.repository import ROOT

BOARDS = [
    importlib.import_module(f"targets.{name}_platform").BOARD
    for name in ("ku5p", "as02mc04", "rk_xcku5p")
]
BUILDS = [(board, lanes) for board in BOARDS for lanes in board.lanes]

KU5P = BOARDS[0]


def name(value):
    return value.name if isinstance(value, nets.Board) else f"x{value}"


@pytest.mark.parametrize("board", BOARDS, ids=name)
def test_no_pin_has_two_nets(board):
    """In each board's table, every pin is a ball of the 676-ball package and belongs to one net
    only.
    """
    pins = [pin for net in board.nets for pin in net.pins.split()]
    assert len(pins) == len(set(pins))
    assert all(re.fullmatch(r"([A-HJ-NPRT-WY]|A[A-F])([1-9]|1\d|2[0-6])", pin) for pin in pins)


@pytest.mark.parametrize("board", BOARDS, ids=name)
def test_every_net_says_where_it_is_from(board):
    """Each net of a board's table names its source.

    A net whose pins are unknown lists no pins, and `advice` says what is known instead.
    """
    for net in board.nets:
        assert net.confidence in nets.CONFIDENCES and net.source
        if net.confidence == nets.UNKNOWN:
            assert not net.pins and net.advice


@pytest.mark.parametrize("board, lanes", BUILDS, ids=name)
def test_the_halves_of_a_pair_are_neighbours(board, lanes):
    """The p and n pins of each differential pair are neighbours in a row: P2 and P1, or AB7 and
    AB6.
    """
    ports = {port.partition(".")[2]: pins for port, pins, _ in board.resources(lanes)}
    for pair in ("clk", "rx", "tx"):
        positive, negative = ports[f"{pair}_p"], ports[f"{pair}_n"]
        assert len(positive) == (1 if pair == "clk" else lanes)
        for p, n in zip(positive, negative):
            assert p.rstrip("0123456789") == n.rstrip("0123456789")
            assert int(re.search(r"\d+", p)[0]) - int(re.search(r"\d+", n)[0]) == 1


def test_one_lane_uses_proven_pins_only():
    """A x1 build of the KU5P card uses only pins that a published design has used successfully.

    A build with more lanes uses pins that are only reported.
    """
    proven = {pin for net in KU5P.nets if net.confidence == nets.HIGH for pin in net.pins.split()}

    def used(lanes):
        return {pin for _, pins, _ in KU5P.resources(lanes) for pin in pins}

    assert used(1) <= proven
    assert not used(4) <= proven
    assert used(4) < used(8)


@pytest.mark.parametrize(
    "net, words",
    [
        ("user_led1", "D26.* D25"),
        ("qsfp.quads", "226 and 227"),
        ("driven from outside", "AC13"),
        ("flash", "MT25QU256"),
    ],
)
def test_an_unknown_net_is_refused_with_what_is_known(net, words):
    """The board's table and LiteX's request() refuse a net with unknown or dedicated pins.

    The error says what is known about the net.
    """
    with pytest.raises(LookupError, match=f"KU5P card: {net} cannot be used.*{words}"):
        KU5P.net(net)
    with pytest.raises(LookupError, match=f"KU5P card: {net} cannot be used.*{words}"):
        pads.make_platform(KU5P, 8).request(net)


# Pins that the owner of a KU5P card has published, by net. The bank of a pin decides its I/O
# standard.
REPORTED = {
    "clk100": "K22",
    "qsfp.refclk_p": "H7",
    "qsfp.refclk_n": "H6",
    "qsfp_a.modsel_n": "AF14",
    "qsfp_a.reset_n": "AE15",
    "qsfp_a.scl": "B14",
    "qsfp_a.sda": "A14",
    "qsfp_a.modprs_n": "C14",
    "qsfp_a.int_n": "AD15",
    "qsfp_a.lpmode": "AF15",
    "qsfp_b.modsel_n": "B9",
    "qsfp_b.reset_n": "A10",
    "qsfp_b.scl": "B11",
    "qsfp_b.sda": "B12",
    "qsfp_b.modprs_n": "A13",
    "qsfp_b.int_n": "A12",
    "qsfp_b.lpmode": "A9",
}


@pytest.mark.parametrize("net", REPORTED)
def test_what_an_owner_reports_is_marked_as_that(net):
    """A net marked as reported has the published pin, an I/O standard that its bank can have, and a
    source.
    """
    found = KU5P.net(net)
    assert (found.pins, found.confidence) == (REPORTED[net], nets.REPORTED)
    assert "62ee167" in found.source or net.endswith("_n") and "other half" in found.source
    bank = next((bank for bank, pins in BANKS.items() if found.pins in "".join(pins).split()), None)
    assert found.standard == (
        "" if bank is None else "LVCMOS33" if bank in HIGH_DENSITY else "LVCMOS18"
    )


def test_the_contradiction_about_an_led_is_stated_and_not_resolved():
    """Two published sources name different pins for the KU5P card's second LED, so its nets contain
    neither pin.
    """
    used = {pin for net in KU5P.nets for pin in net.pins.split()}
    assert not {"D25", "D26"} & used
    advice = next(net.advice for net in KU5P.nets if net.name == "user_led1")
    assert all(word in advice for word in ("pins.xdc", "D26", "qsfp_control_signals.xdc", "D25"))
    assert [port for port, _, _ in KU5P.resources(8) if "led" in port] == ["user_led0"]


def test_weaker_pins_are_said_in_the_report(capsys):
    """A KU5P build with 8 lanes prints that the pins of lanes 1 to 7 are only reported.

    A build with one lane uses proven pins, so it prints nothing.
    """
    silicon.say_what_differs(KU5P, 8)
    assert "pins of lanes 1 to 7 are reported only" in capsys.readouterr().out
    silicon.say_what_differs(KU5P, 1)
    assert not capsys.readouterr().out


def test_a_net_of_another_board_is_refused():
    """A net or a number of lanes that the board does not have is refused. The error lists those it
    has.
    """
    with pytest.raises(LookupError, match="KU5P card has no net 'sfp0': there are pcie.clk_p"):
        KU5P.net("sfp0")
    with pytest.raises(LookupError, match="KU5P card has no 2 lanes: choose 8 or 4 or 1"):
        KU5P.resources(2)


@pytest.mark.parametrize("board, lanes", [(KU5P, 8), (KU5P, 1), (BOARDS[2], 4)], ids=name)
def test_constraints_and_verilog_have_the_same_ports(board, lanes, tmp_path, monkeypatch):
    """The generated constraints place each bit of each port of the generated Verilog, and no other
    port.
    """
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "target",
            "--synth-only",
            "--lanes",
            str(lanes),
            "--endpoint",
            "litepcie",
            "--output-dir",
            str(tmp_path),
        ],
    )
    arguments = options.parse_arguments(board, "")
    output, _ = silicon_gateware.build_gateware(board, arguments)
    constants = json.loads((output / "csr.json").read_text())["constants"]
    assert constants["config_clock_frequency"] == board.clock
    text = (output / "gateware" / f"{board.name}.xdc").read_text()
    placed = re.findall(r"PACKAGE_PIN \S+ \[get_ports \{(.*?)\}\]", text)
    assert len(placed) == len(set(placed))
    assert set(placed) == verilog_ports(output / "gateware" / "lanebox.v")
    verilog = (output / "gateware" / "lanebox.v").read_text()
    for port in {port.partition("[")[0] for port in placed}:
        assert len(re.findall(rf"\b{port}\b", verilog)) > 1, f"{port} is connected to nothing"
    standards = re.findall(r"IOSTANDARD \S+ \[get_ports \{(.*?)\}\]", text)
    assert {port for port in placed if not re.search(r"_(clk|rx|tx)_[pn]", port)} == set(standards)


def verilog_ports(path):
    """Return the names of the ports of the top module in the file `path`, bit by bit, as
    constraints name them.
    """
    header = re.search(r"^module lanebox \((.*?)^\);", path.read_text(), re.MULTILINE | re.DOTALL)
    ports = set()
    for width, port in re.findall(
        r"(?:input|output)\s+(?:wire|reg)?\s*(?:\[(\d+):0\])?\s*(\w+)", header.group(1)
    ):
        ports |= {f"{port}[{n}]" for n in range(int(width) + 1)} if width else {port}
    return ports


def test_the_readers_table_is_that_of_the_build():
    """targets/README.md contains the table of nets that nets.markdown() writes, so readers see the
    pins of the build.
    """
    assert nets.markdown(KU5P) in Path(ROOT / "targets" / "README.md").read_text()
