# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of observe/capability_blocks.py: the table says what the gateware has that was built."""

import json
from types import SimpleNamespace

import pytest

from gateware import numbers
from gateware.observe import capability, capability_blocks
from gateware.observe.capability import BLOCK_TYPES
from gateware.observe.identity import gateware_digest
from gateware.test.observe.capability_table import table_of
from gateware.user.loopback import Loopback
from gateware.user.slot import occupant_sources


@pytest.fixture(scope="module")
def built(sim_build):
    return table_of(sim_build)


@pytest.fixture(scope="module")
def csr(sim_build):
    return json.loads((sim_build / "csr.json").read_text())


def entry(built, kind, index=0):
    """Return offset, size (both in bytes) and parameters by name of one block in the capability
    table.
    """
    type = BLOCK_TYPES[kind]
    found = [e for e in built[1] if e[0] == type.number and e[3] == index]
    assert len(found) == 1
    offset, size, parameters = found[0][4:]
    return offset, size, dict(zip(type.parameters, parameters))


def test_header_names_board_and_sources(built):
    """The capability table's header has the board's name and the sources' digest, as the
    identifier has.
    """
    header, _ = built
    assert header == {
        "version": (1, 9),
        "target": "sim",
        "digest": gateware_digest(occupant_sources(Loopback)),
    }


@pytest.mark.parametrize(
    "kind, parameter, register",
    [
        ("control", "reset", "ctrl_reset"),
        ("control", "scratch", "ctrl_scratch"),
        ("interrupts", "enable", "pcie_msi_enable"),
        ("interrupts", "clear", "pcie_msi_clear"),
        ("interrupts", "vector", "pcie_msi_vector"),
        ("dma", "h2c", "pcie_dma0_reader_enable"),
        ("dma", "c2h", "pcie_dma0_writer_enable"),
        ("dma", "loopback", "pcie_dma0_loopback_enable"),
        ("device_time", "low", "device_time_low"),
        ("device_time", "high", "device_time_high"),
        ("counters", "control", "pcie_counters_control"),
        ("counters", "time", "pcie_counters_time"),
        ("pattern", "control", "pattern_control"),
        ("transactions", "control", "pcie_endpoint_control"),
        ("transactions", "timeout", "pcie_endpoint_timeout"),
        ("mmio", "control", "mmio_control"),
        ("mmio", "reads_inside", "mmio_reads_inside"),
        ("stamps", "doorbell", "stamps_doorbell"),
        ("stamps", "interrupt", "stamps_interrupt"),
        ("stamps", "waiting", "stamps_waiting"),
        ("slot", "now", "slot_now"),
        *(
            ("records", name, f"pcie_notices0_{name}")
            for name in BLOCK_TYPES["records"].parameters[:-1]
        ),
    ],
)
def test_registers_are_where_the_register_map_has_them(built, csr, kind, parameter, register):
    """The capability table gives each of these registers the address that csr.json gives it."""
    offset, size, parameters = entry(built, kind)
    assert offset + parameters[parameter] == csr["csr_registers"][register]["addr"]
    assert parameters[parameter] < size


@pytest.mark.parametrize("way", ["reader", "writer"])
@pytest.mark.parametrize("register", capability.DMA_GROUP)
def test_dma_groups_are_what_their_version_says(built, csr, way, register):
    """Each DMA direction has its registers at the offsets that the version of the block `dma`
    defines.
    """
    offset, _, parameters = entry(built, "dma")
    start = offset + parameters["h2c" if way == "reader" else "c2h"]
    address = csr["csr_registers"][f"pcie_dma0_{way}_{register}"]["addr"]
    assert start + capability.DMA_GROUP[register] == address


def test_parameters_are_those_of_the_gateware(built, csr):
    """Widths, interrupt causes and sizes in the capability table are those of the gateware's
    constants.
    """
    constants = csr["constants"]
    parameters = entry(built, "dma")[2]
    assert parameters["h2c_cause"] == constants["pcie_dma0_reader_interrupt"]
    assert parameters["c2h_cause"] == constants["pcie_dma0_writer_interrupt"]
    assert parameters["address_width"] == constants["dma_addr_width"]
    assert parameters["table_depth"] == 256
    assert entry(built, "endpoint")[2]["clock_hz"] == constants["config_clock_frequency"]
    assert entry(built, "device_time")[2]["tick_ps"] == 4000
    transactions, mmio = (entry(built, kind)[2] for kind in ("transactions", "mmio"))
    assert transactions["read_tags"] == entry(built, "endpoint")[2]["read_tags"] == 256
    assert transactions["landing_bytes"] == 64 << 10
    assert transactions["host_credits"] == mmio["reads_most"] == 32
    for n, base in enumerate(numbers.MEMORY_BASES):
        assert entry(built, "memory", n)[:2] == (base, numbers.MEMORY_SIZE)


def test_msix_is_where_configuration_space_has_it(msix_build):
    """The capability table and configuration space give the same places for MSI-X's table and
    pending bits.

    The MSI-X capability in configuration space is made from constants, for the simulated card and
    for the vendor's core. Its two places are offsets in BAR0. In the capability table `pending`
    counts from the block's start.
    """
    constants = json.loads((msix_build / "csr.json").read_text())["constants"]
    offset, size, parameters = entry(table_of(msix_build), "msix")
    assert offset == constants["pcie_msix_table"]
    assert offset + parameters["pending"] == constants["pcie_msix_pending"]
    assert parameters["vectors"] == constants["pcie_msix_vectors"]
    # The pending bits of MSI-X lie behind the vectors of 16 bytes each, and inside the block.
    assert 16 * parameters["vectors"] <= parameters["pending"] < size


@pytest.mark.parametrize("bar, size", [(0, numbers.CAPABILITY_BASE), (2, numbers.BAR2_SIZE)])
def test_blocks_lie_in_their_bar_and_apart(built, bar, size):
    """No block in the capability table overlaps another or leaves its BAR.

    In BAR0 all blocks are below the capability table.
    """
    places = sorted((e[4], e[4] + e[5]) for e in built[1] if e[2] == bar)
    assert all(end <= size for _, end in places)
    assert all(end <= start for (_, end), (start, _) in zip(places, places[1:]))


def test_what_users_map_has_pages_of_its_own(built):
    """Each block that ordinary users may map fills whole pages of 4 KiB.

    The host grants access by the page, so no other block may share one.
    """
    mapped = {BLOCK_TYPES[name].number for name in capability.MAPPED_BY_USERS}
    places = [(e[4], e[5]) for e in built[1] if e[0] in mapped]
    assert len(places) >= 3
    assert not any(offset % 4096 or size % 4096 for offset, size in places)


def test_the_user_s_pages_grow_with_its_registers():
    """The user logic's registers take as many whole pages as they need, which no other block
    shares.

    The test has banks of 1, 600 and 1100 registers.
    """
    for registers, size in ((1, 0x1000), (600, 0x1000), (1100, 0x2000)):
        names = [f"r{n}" for n in range(registers)]
        soc = csr_soc({"user": (0x8000, names)})
        [block] = capability_blocks._user_blocks(soc)
        assert (block.offset, block.size) == (0x8000, size)
        capability.check_pages([block], capability_blocks.register_banks(soc))


def test_the_blocks_of_logic_with_commands_have_another_version():
    """The registers and the window of user logic with commands have version 2, for which the
    driver gives ordinary users no right. Without commands they have the version of their type.
    """
    soc = csr_soc({"user": (0x8000, ["r"])})
    soc.user.axi = True
    for commands, version in ((None, None), (True, capability.USER_WITH_COMMANDS)):
        soc.user.commands = commands
        for blocks in (capability_blocks._user_blocks, capability_blocks._user_window_blocks):
            [block] = blocks(soc)
            assert block.version == version


def csr_soc(banks):
    """Make a stand-in for a SoC with what capability.py reads: the addresses of its 32-bit
    registers.

    `banks` has for each bank its byte address and the names of its registers.
    """
    regions = {
        name: SimpleNamespace(
            origin=origin,
            busword=32,
            obj=[SimpleNamespace(name=register, size=32) for register in registers],
        )
        for name, (origin, registers) in banks.items()
    }
    return SimpleNamespace(
        csr=SimpleNamespace(regions=regions),
        constants={"USER_INTERRUPT": 2},
        user=SimpleNamespace(commands=None, axi=None),
    )
