# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util peek, poke and dump with a stand-in for the card."""

import json

import pytest

from software.test.card_standin import SCRATCH_RESET
from software.test.vfio_user_standin import Standin


@pytest.fixture
def standin(built, tmp_path):
    with Standin(tmp_path / "s", built.csr_json) as standin:
        yield standin


@pytest.fixture
def device(standin, tmp_path):
    return f"sim:{tmp_path / 's'}"


def test_a_register_has_a_name_and_a_place(util, standin, device):
    """peek gives the same value by a register's name and by its offset in BAR0."""
    named = util.json(device, "peek", "ctrl_scratch")[1]
    placed = util.json(device, "peek", hex(named["offset_bytes"]))[1]
    assert named["value"] == placed["value"] == SCRATCH_RESET
    assert (named["register"], placed["register"]) == ("ctrl_scratch", None)
    assert util.run("-d", device, "peek", "ctrl_scratch").stdout == f"0x{SCRATCH_RESET:08x}\n"


@pytest.mark.parametrize("place", ["ctrl_scratch", "0x4"])
def test_poke_writes_and_says_nothing(util, standin, device, place):
    """The command poke writes the value to the card's register and prints nothing."""
    result = util.run("-d", device, "poke", place, "0xcafe0001")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert standin.scratch() == 0xCAFE0001


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
    and the same bytes as characters behind them.
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
    that of LANEBOX_CSR, if that is not empty.
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
        (["peek"], 2, "one place"),
        (["peek", "1", "2"], 2, "one place"),
        (["peek", "--bar", "6", "0"], 2, "from 0 to 5"),
        (["peek", "--width", "6", "0"], 2, "4 or 8"),
        (["peek", "ctrl_scratchy"], 1, "the nearest is ctrl_scratch"),
        (["peek", "0x2"], 1, "not a multiple of the access's 4"),
        (["peek", "0x20000"], 1, "behind the end of BAR0, which has 0x20000"),
        (["peek", "--bar", "4", "0"], 1, "BAR4: the card has none there"),
        (["poke", "ctrl_scratch"], 2, "a place and a value"),
        (["poke", "ctrl_scratch", "red"], 2, "must be a number"),
        (["poke", "ctrl_scratch", "0x100000000"], 1, "does not fit into the 32 bits"),
        (["dump", "0x2"], 2, "a multiple of 4"),
        (["dump", "0", "2M"], 2, "up to 1M"),
        (["dump", "0x1fff0", "32"], 1, "BAR0 has 0x20000 bytes here"),
        (["dump", "--bar", "4", "0", "4"], 1, "BAR4: the card has none there"),
        (["dump", "a", "b"], 2, "one beginning of a name"),
    ],
)
def test_what_cannot_be_read_or_written_is_a_sentence(util, device, arguments, status, sentence):
    """peek, poke and dump end with status 2 for a wrong command line, and with status 1 for a
    register or an address that the card does not have.
    """
    result = util.run("-d", device, *arguments)
    assert result.returncode == status
    assert sentence in result.stderr and len(result.stderr.splitlines()) <= 2
