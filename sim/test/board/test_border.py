# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/board/border.py, which makes the border between Verilog and the C++ model: a pin of
the table reaches both sides, and a board whose sides differ is refused."""

import dataclasses
import re
import shutil
import subprocess

import pytest

from gateware.phy import pins
from sim.board import border, build
from sim.test.board.board_builds import build_gateware


def members(text, name):
    """Return [(member, number of 32-bit words), ...] of the struct `name` in the C++ header `text`,
    in the struct's order."""
    body = re.search(rf"struct {name} {{\n(.*?)\n}};", text, re.DOTALL)[1]
    found = re.findall(r"uint32_t (\w+)(?:\[(\d+)\])?;", body)
    return [(member, int(words or 1)) for member, words in found]


def test_both_sides_have_the_same_size():
    """The Verilog vectors `inputs` and `outputs` have exactly as many bits as the C++ structs
    BorderInputs and BorderOutputs."""
    header, verilog = border.header(), border.verilog()
    for name, way in (("BorderInputs", "input"), ("BorderOutputs", "output")):
        bits = 32 * sum(words for _, words in members(header, name))
        assert f"static_assert(sizeof({name}) * 8 == {bits});" in header
        assert f"{way} bit [{bits}-1:0] {way}s" in verilog


def test_every_output_is_taken_from_its_own_words():
    """In the generated Verilog each output pin is taken from as many bits of `outputs` as the pin
    is wide. No two pins are taken from the same bits."""
    for pin, width in re.findall(r"(\w+) <= outputs\[\d+ \+: (\d+)\];", border.verilog()):
        assert pins.PINS[pin].width == int(width)
    slices = re.findall(r"outputs\[(\d+) \+: (\d+)\]", border.verilog())
    taken = [int(low) + bit for low, width in slices for bit in range(int(width))]
    assert len(taken) == len(set(taken)) and len(slices) > 50


# {pin: {field: the bits of the pin that the field has, lowest first}}, from PG213's tables of the
# tuser signals of a 256-bit interface. The fields `discontinue` are left out, since the model never
# sets them.
TUSER = {
    "m_axis_cq_tuser": {
        "first_be": range(4),
        "last_be": range(4, 8),
        "byte_enable": range(8, 40),
        "start": [40],
    },
    "m_axis_rc_tuser": {
        "byte_enable": range(32),
        "start_0": [32],
        "start_1": [33],
        "end_0_valid": [34],
        "end_0_dword": range(35, 38),
        "end_1_valid": [38],
        "end_1_dword": range(39, 42),
    },
    "s_axis_rq_tuser": {
        "first_be": range(4),
        "last_be": range(4, 8),
        "sequence": [*range(24, 28), 60, 61],
    },
}


def shown_bits(pin):
    """Return a list with one entry for each bit of an output pin, lowest first: the number of the
    bit of `outputs` that the generated Verilog shows there, or None if it shows a constant 0."""
    [value] = re.findall(rf"{pin} <= {{(.*?)}};", border.verilog())
    bits = []
    for part in reversed(value.split(", ")):
        if zeros := re.fullmatch(r"(\d+)'d0", part):
            bits += [None] * int(zeros[1])
        else:
            low, width = map(int, re.fullmatch(r"outputs\[(\d+) \+: (\d+)\]", part).groups())
            bits += range(low, low + width)
    return bits


def first_bits(text, name):
    """Return {member of the struct `name`: the number of its lowest bit in the packed Verilog
    vector}."""
    found, at = {}, 0
    for member, words in members(text, name):
        found[member] = 32 * at
        at += words
    return found


@pytest.mark.parametrize("pin", ["m_axis_cq_tuser", "m_axis_rc_tuser"])
def test_every_field_of_an_output_tuser_lies_where_pg213_has_it(pin):
    """Each field of m_axis_cq_tuser and m_axis_rc_tuser is a member of the C++ struct, and Verilog
    shows that member at the bits that PG213 gives the field."""
    bits, places = shown_bits(pin), first_bits(border.header(), "BorderOutputs")
    assert len(bits) == pins.PINS[pin].width
    for field, wanted in TUSER[pin].items():
        low = places[f"{pin}_{field}"]
        assert [bits[bit] for bit in wanted] == list(range(low, low + len(wanted))), field


def test_every_field_of_rq_tuser_is_taken_from_where_pg213_has_it():
    """Each field of s_axis_rq_tuser is a member of the C++ struct, and Verilog fills that member
    from the bits that PG213 gives the field."""
    pin = "s_axis_rq_tuser"
    packed = {member.name: member.verilog for member in border._inputs()}
    for field, wanted in TUSER[pin].items():
        taken = []
        for high, low in reversed(re.findall(rf"{pin}\[(\d+):(\d+)\]", packed[f"{pin}_{field}"])):
            taken += range(int(low), int(high) + 1)
        assert taken == list(wanted), field


def test_a_wider_pin_is_wider_everywhere(monkeypatch):
    """If a pin becomes wider in the table of pins, it becomes wider in the Verilog module's ports,
    in the packed vector and in the C++ struct."""
    title = "Credits, tags and sequence numbers."
    wider = dataclasses.replace(pins.PINS["cfg_fc_ph"], width=40)
    group = [wider if pin.name == "cfg_fc_ph" else pin for pin in pins.GROUPS[title]]
    monkeypatch.setitem(pins.PINS, "cfg_fc_ph", wider)
    monkeypatch.setitem(pins.GROUPS, title, group)
    assert "output reg [39:0] cfg_fc_ph" in border.verilog()
    assert re.search(r"cfg_fc_ph <= outputs\[\d+ \+: 40\]", border.verilog())
    assert ("cfg_fc_ph", 2) in members(border.header(), "BorderOutputs")


def test_a_pin_that_no_longer_exists_is_an_error_of_cpp(monkeypatch):
    """A pin that is not in OUTPUTS is no member of the C++ struct. So C++ code that still names the
    pin does not compile."""
    monkeypatch.setattr(border, "OUTPUTS", [pin for pin in border.OUTPUTS if pin != "cfg_fc_pd"])
    assert "cfg_fc_pd" not in dict(members(border.header(), "BorderOutputs"))


def test_the_layout_has_a_number(monkeypatch):
    """The layout of the border has a number, which Verilog and C++ both carry. If two pins of the
    same width change places, the number changes."""
    before = border.layout()
    assert f"kBorderLayout = {before};" in border.header()
    assert f"pcie4_bind({before})" in border.verilog()
    pins_out = list(border.OUTPUTS)
    a, b = pins_out.index("pcie_tfc_nph_av"), pins_out.index("pcie_tfc_npd_av")
    pins_out[a], pins_out[b] = pins_out[b], pins_out[a]
    monkeypatch.setattr(border, "OUTPUTS", pins_out)
    assert border.layout() != before


def test_a_width_changes_the_layout(monkeypatch):
    """If a pin becomes wider but still fits its 32-bit word, the number of the border's layout
    changes."""
    before = border.layout()
    wider = dataclasses.replace(pins.PINS["cfg_fc_ph"], width=9)
    monkeypatch.setitem(pins.PINS, "cfg_fc_ph", wider)
    assert border.layout() != before


def test_sides_of_another_layout_are_refused(monkeypatch, tmp_path):
    """A board whose Verilog has another layout number than its C++ ends at its start with status 1
    and a sentence that names both numbers."""
    wrong = tmp_path / "wrong"
    shutil.copytree(border.files(), wrong)
    module = wrong / "pcie_usp.sv"
    module.write_text(module.read_text().replace(f"pcie4_bind({border.layout()})", "pcie4_bind(7)"))
    monkeypatch.setattr(border, "files", lambda: wrong)
    monkeypatch.setattr(build, "CACHE", tmp_path / "cache")
    board = build.build_board(build_gateware(), quiet=True)
    done = subprocess.run([board, "--socket", tmp_path / "s"], capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        f"in layout 7, and the model takes {border.layout()}: build the board anew" in done.stderr
    )


def test_the_body_must_have_its_marks(monkeypatch, tmp_path):
    """If pcie_usp.sv.in lacks a line that marks where generated text goes, border.verilog() raises
    an error that names the missing line."""
    body = tmp_path / "pcie_usp.sv.in"
    body.write_text(border.BODY.read_text().replace("//: shown outputs", ""))
    monkeypatch.setattr(border, "BODY", body)
    with pytest.raises(ValueError, match="one line `//: shown outputs`"):
        border.verilog()
