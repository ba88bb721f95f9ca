# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util dump with a stand-in for the card."""

import json

import pytest


@pytest.fixture
def standin(card):
    with card() as standin:
        yield standin


def test_dump_lists_registers_by_the_beginning_of_their_names(util, standin, device):
    """dump lists the registers whose names begin with the given text, in the order of their
    offsets.
    """
    found = util.json(device, "dump", "pcie_dma0")[1]["registers"]
    offsets = [entry["offset_bytes"] for entry in found]
    assert offsets == sorted(offsets) and len(offsets) > 10
    assert all(entry["name"].startswith("pcie_dma0") for entry in found)
    everything = util.json(device, "dump")[1]["registers"]
    assert {entry["name"] for entry in found} < {entry["name"] for entry in everything}
    result = util.run("-d", device, "dump", "nonsense")
    assert result.returncode == 1 and 'begins with "nonsense"' in result.stderr


def test_dump_shows_a_stretch_of_memory_as_the_cards_bytes(util, standin, device, built):
    """dump prints the card's memory as bytes in the order of their addresses, 16 bytes in a line
    and the same bytes as characters behind them. A byte that is no printable character is a dot.
    """
    memory0 = json.loads(built.csr_json.read_text())["memories"]["memory0"]["base"]
    standin.preset_memory0([0x656E614C, 0x00786F62, 0xFFFFFFFF, 0, 0x12345678])
    lines = util.run("-d", device, "dump", hex(memory0), "20").stdout.splitlines()
    assert lines[0] == (
        f"{memory0:08x}  4c 61 6e 65 62 6f 78 00 ff ff ff ff 00 00 00 00  Lanebox........."
    )
    assert lines[1].split()[1:] == ["78", "56", "34", "12", "xV4."]
    assert util.json(device, "dump", hex(memory0), "8")[1]["words"] == [0x656E614C, 0x00786F62]


def test_more_names_come_from_the_option_or_else_from_the_environment(
    util, standin, device, tmp_path, monkeypatch
):
    """The option --csr names a file with more names of registers. Without the option the file is
    the one that the variable LANEBOX_CSR names, if the variable is not empty.
    """

    def csr(name):
        register = {"addr": 0x10000, "size": 1, "type": "rw"}
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"csr_registers": {name: register}}))
        return str(path)

    def names(*options):
        found = util.json(device, "dump", *options)[1]["registers"]
        return [entry["name"] for entry in found if entry["name"].startswith("mine")]

    option = csr("mine_by_option")
    monkeypatch.setenv("LANEBOX_CSR", "")
    assert names() == [] and names("--csr", option) == ["mine_by_option"]
    monkeypatch.setenv("LANEBOX_CSR", csr("mine_by_environment"))
    assert names() == ["mine_by_environment"]
    assert names("--csr", option) == ["mine_by_option"]


@pytest.mark.parametrize(
    "arguments, status, sentence",
    [
        (["dump", "0x2"], 2, "a multiple of 4"),
        (["dump", "0", "2M"], 2, "up to 1M"),
        (["dump", "0x1fff0", "32"], 1, "BAR0 has 0x20000 bytes here"),
        (["dump", "--bar", "4", "0", "4"], 1, "BAR4: the card has none there"),
        (["dump", "a", "b"], 2, "one beginning of a name"),
    ],
)
def test_what_cannot_be_shown_is_a_sentence(util, standin, device, arguments, status, sentence):
    """dump ends with status 2 for a wrong command line, and with status 1 for an address that the
    card does not have.
    """
    result = util.run("-d", device, *arguments)
    assert result.returncode == status
    assert sentence in result.stderr and len(result.stderr.splitlines()) <= 2
