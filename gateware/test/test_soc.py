# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of gateware/soc.py, which connects all blocks of the gateware."""

import json
import re
from pathlib import Path

import pytest

from gateware import numbers
from gateware.observe.identity import identifier
from gateware.user.loopback import Loopback
from gateware.user.slot import occupant_sources

CSR_MAP = Path(__file__).with_name("csr_map.txt")


@pytest.fixture(scope="module")
def csr_json(sim_build):
    return json.loads((sim_build / "csr.json").read_text())


def csr_lines(csr_json):
    registers = csr_json["csr_registers"].items()
    return [
        f"{register['addr']:#07x} {register['size']} {register['type']} {name}"
        for name, register in sorted(registers, key=lambda item: item[1]["addr"])
    ]


def test_register_map_is_the_one_software_was_built_for(csr_json):
    """Every register has the address, size and access that csr_map.txt gives it.

    Software is built for the map in csr_map.txt.
    """
    lines = [line for line in CSR_MAP.read_text().splitlines() if not line.startswith("#")]
    assert csr_lines(csr_json) == lines


def test_c_header_and_json_agree(sim_build, csr_json):
    """The generated csr.h gives every register the address that csr.json gives it."""
    header = (sim_build / "include" / "csr.h").read_text()
    defines = re.findall(r"#define CSR_(\w+)_ADDR \(CSR_BASE \+ (0x[0-9a-f]+)L\)", header)
    assert "#define CSR_BASE 0x0L" in header
    assert {name.lower(): int(address, 16) for name, address in defines} == {
        name: register["addr"] for name, register in csr_json["csr_registers"].items()
    }


def test_bases_are_those_of_the_layout(csr_json):
    """Every module's registers begin at the page that numbers.CSR_LOCATIONS gives the module."""
    for name, base in csr_json["csr_bases"].items():
        assert base == numbers.CSR_LOCATIONS[name] * 0x800, name


def test_memories_are_where_the_contract_says(csr_json):
    """The registers, both block memories and the capability table have their fixed places
    in BAR0.
    """
    memories = {
        name: (memory["base"], memory["size"]) for name, memory in csr_json["memories"].items()
    }
    assert memories == {
        "csr": (0x00000, 0x10000),
        "memory0": (0x10000, 0x1000),
        "memory1": (0x14000, 0x1000),
        "capability": (0x1F000, 0x1000),
    }
    assert all(base + size <= numbers.BAR0_SIZE for base, size in memories.values())


@pytest.mark.parametrize(
    "name, value",
    [
        ("dma_channels", 1),
        ("dma_addr_width", 64),
        ("pcie_dma0_reader_interrupt", 0),
        ("pcie_dma0_writer_interrupt", 1),
        ("user_interrupt", 2),
        ("config_clock_frequency", 250_000_000),
    ],
)
def test_constants_for_the_driver(csr_json, name, value):
    """The constants with which LitePCIe's driver and our tools are compiled have their expected
    values.
    """
    assert csr_json["constants"][name] == value


def test_identifier_memory_holds_the_identifier(sim_build):
    """The SoC's identifier memory holds the text that identifies these sources, with a NUL at the
    end.
    """
    text = identifier("sim", occupant_sources(Loopback))
    words = (sim_build / "gateware" / "lanebox_mem.init").read_text().split()
    assert bytes(int(word, 16) for word in words) == text.encode() + b"\0"


def test_the_wiring_is_short():
    """gateware/soc.py has at most 150 lines and no logic of its own: it only connects blocks."""
    source = (Path(numbers.__file__).parent / "soc.py").read_text()
    assert len(source.splitlines()) <= 150
    for word in ("Signal(", "self.sync", "If(", "FSM("):
        assert word not in source, word
