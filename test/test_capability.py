# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""capability.py: the table says what the gateware has, and software built earlier can read it."""

import json
import re
import struct
import subprocess
import sys
import zlib
from types import SimpleNamespace

import pytest
from repository import ROOT

from lanebox import capability, layouts
from lanebox.capability import BLOCK_TYPES, Block
from lanebox.identity import gateware_digest
from lanebox.user.loopback import Loopback
from lanebox.user.slot import occupant_sources

HEADER = ROOT/"software"/"kernel"/"uapi"/"litepcie_capability.h"
DIGEST = "0123456789abcdef"*4


def decode(words):
    """The table as a reader sees it who has only this file: header fields and entries in bytes."""
    raw = struct.pack(f"<{len(words)}I", *words)
    magic, minor, major, size, crc, count, reserved = struct.unpack_from("<4sHHIIII", raw)
    assert magic == b"LBOX"
    assert zlib.crc32(raw[:12] + bytes(4) + raw[16:size]) == crc
    entries, at = [], 88
    for _ in range(count):
        kind, version, length, bar, index, offset, block_size = struct.unpack_from("<HHHBBII", raw,
            at)
        assert length % 8 == 0 and length >= 16
        parameters = struct.unpack_from(f"<{length//4 - 4}I", raw, at + 16)
        entries.append((kind, version, bar, index, offset, block_size, parameters))
        at += length
    assert at == size
    return {
        "version": (major, minor), "digest": raw[24:56].hex(),
        "target": raw[56:88].rstrip(b"\0").decode(),
    }, entries


def contents(path):
    return [int(word, 16) for word in path.read_text().split()]


def memories(folder):
    """The words of every memory that starts as a table; the bridge's lie in eight lanes."""
    for first in folder.glob("*.init"):
        if "_lane0" in first.name:
            lanes = [first.with_name(first.name.replace("_lane0", f"_lane{n}")) for n in range(8)]
            yield [word for row in zip(*map(contents, lanes)) for word in row]
        elif "_lane" not in first.name:
            yield contents(first)


def table_of(build):
    """The table as the gateware's memory holds it."""
    tables = [words for words in memories(build/"gateware") if words[0] == capability.MAGIC]
    assert len(tables) == 1
    return decode(tables[0])


@pytest.fixture(scope="module")
def built(sim_build):
    return table_of(sim_build)


@pytest.fixture(scope="module")
def csr(sim_build):
    return json.loads((sim_build/"csr.json").read_text())


def entry(built, kind, index=0):
    """Offset, size and parameters by name of one block."""
    type = BLOCK_TYPES[kind]
    found = [e for e in built[1] if e[0] == type.number and e[3] == index]
    assert len(found) == 1
    offset, size, parameters = found[0][4:]
    return offset, size, dict(zip(type.parameters, parameters))


def test_header_names_target_and_sources(built):
    """The digest is the one that the identifier shows the beginning of."""
    header, _ = built
    assert header == {
        "version": (1, 2), "target": "sim", "digest": gateware_digest(occupant_sources(Loopback)),
    }


@pytest.mark.parametrize("kind, parameter, register", [
    ("control",     "reset",    "ctrl_reset"),
    ("control",     "scratch",  "ctrl_scratch"),
    ("interrupts",  "enable",   "pcie_msi_enable"),
    ("interrupts",  "clear",    "pcie_msi_clear"),
    ("interrupts",  "vector",   "pcie_msi_vector"),
    ("dma",         "h2c",      "pcie_dma0_reader_enable"),
    ("dma",         "c2h",      "pcie_dma0_writer_enable"),
    ("dma",         "loopback", "pcie_dma0_loopback_enable"),
    ("device_time", "low",      "device_time_low"),
    ("device_time", "high",     "device_time_high"),
    ("counters",    "control",  "pcie_counters_control"),
    ("counters",    "time",     "pcie_counters_time"),
    ("pattern",     "control",  "pattern_control"),
    ("transactions", "control", "pcie_endpoint_control"),
    ("transactions", "timeout", "pcie_endpoint_timeout"),
    ("mmio",        "control",  "mmio_control"),
    ("mmio",        "reads_inside", "mmio_reads_inside"),
    ("stamps",      "doorbell", "stamps_doorbell"),
    ("stamps",      "interrupt", "stamps_interrupt"),
    ("stamps",      "waiting",  "stamps_waiting"),
    *(("records", name, f"pcie_notices0_{name}")
        for name in BLOCK_TYPES["records"].parameters[:-1]),
])
def test_registers_are_where_the_register_map_has_them(built, csr, kind, parameter, register):
    """The table and csr.json come from the same SoC."""
    offset, size, parameters = entry(built, kind)
    assert offset + parameters[parameter] == csr["csr_registers"][register]["addr"]
    assert parameters[parameter] < size


@pytest.mark.parametrize("way", ["reader", "writer"])
@pytest.mark.parametrize("register", capability.DMA_GROUP)
def test_dma_groups_are_what_their_version_says(built, csr, way, register):
    """Software adds these offsets to the group's start."""
    offset, _, parameters = entry(built, "dma")
    start = offset + parameters["h2c" if way == "reader" else "c2h"]
    address = csr["csr_registers"][f"pcie_dma0_{way}_{register}"]["addr"]
    assert start + capability.DMA_GROUP[register] == address


def test_parameters_are_those_of_the_gateware(built, csr):
    """Widths, causes and sizes, from where the gateware has them."""
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
    assert transactions["host_credits"] == mmio["read_slots"] == 32
    for n, base in enumerate(layouts.MEMORY_BASES):
        assert entry(built, "memory", n)[:2] == (base, layouts.MEMORY_SIZE)


def test_msix_is_where_configuration_space_has_it(msix_build):
    """`pending` counts from the block's start; table and pending bits are those of the capability.

    The capability in configuration space, the simulated card's and the core's, is made of the
    constants. There both are offsets in BAR0.
    """
    constants = json.loads((msix_build/"csr.json").read_text())["constants"]
    offset, size, parameters = entry(table_of(msix_build), "msix")
    assert offset == constants["pcie_msix_table"]
    assert offset + parameters["pending"] == constants["pcie_msix_pending"]
    assert parameters["vectors"] == constants["pcie_msix_vectors"]
    # Behind the last vector's 16 bytes, and inside the block.
    assert 16*parameters["vectors"] <= parameters["pending"] < size


@pytest.mark.parametrize("bar, size", [(0, layouts.CAPABILITY_BASE), (2, layouts.BAR2_SIZE)])
def test_blocks_lie_in_their_bar_and_apart(built, bar, size):
    """No block reaches into another or out of the BAR; in BAR0 the table itself is the last."""
    places = sorted((e[4], e[4] + e[5]) for e in built[1] if e[2] == bar)
    assert all(end <= size for _, end in places)
    assert all(end <= start for (_, end), (start, _) in zip(places, places[1:]))


def test_what_users_map_has_pages_of_its_own(built):
    """The host gives rights by the page of 4 KiB: memories fill theirs, with nothing beside."""
    mapped = {BLOCK_TYPES[name].number for name in capability.MAPPED_BY_USERS}
    places = [(e[4], e[5]) for e in built[1] if e[0] in mapped]
    assert len(places) >= 3
    assert not any(offset % 4096 or size % 4096 for offset, size in places)


USER = Block("user", 0x8000, 0x1000, {"cause": 2})

@pytest.mark.parametrize("blocks, banks, message", [
    ([USER], {"user": (0x8000, 0x800), "spare": (0x8800, 0x800)}, "shares its pages with spare"),
    ([USER], {"user": (0x8000, 0x800), "early": (0x7800, 0x1000)}, "shares its pages with early"),
    ([Block("user", 0x8800, 0x1000, {"cause": 2})], {}, "0x1000 bytes at 0x8800 of BAR0 are no"),
    ([Block("user", 0x8000, 0x800, {"cause": 2})], {}, "0x800 bytes at 0x8000 of BAR0 are no"),
    ([USER, Block("pattern", 0x8800, 0x800, {"control": 0})], {}, "shares its pages with pattern"),
    ([Block("user_window", 0x100400, 0x1000, {}, bar=2)], {}, "BAR2 are no whole pages"),
    ([Block("user_window", 0x80000, 0x1000, {}, bar=2),
        Block("memory", 0x80000, 0x1000, {}, bar=2)], {}, "shares its pages with memory"),
], ids=["bank behind", "bank before", "place", "size", "block", "window", "window and memory"])
def test_a_card_whose_user_shares_a_page_is_refused(blocks, banks, message):
    """At elaboration, with a sentence that names both: users could map neither."""
    with pytest.raises(ValueError, match=message):
        capability.check_pages(blocks, banks)


# Builds the simulation's gateware with user logic that has registers, and one bank moved.
ELABORATE = """
import runpy, sys
sys.path.insert(0, "targets")
from lanebox import layouts
layouts.CSR_LOCATIONS.update({moved})
sys.argv = ["sim.py", "--build", "--user", "lanebox.user.axi_memory:SlowMemoryOnAxi",
    "--output-dir", {folder!r}]
runpy.run_path("targets/sim.py", run_name="__main__")
"""

@pytest.mark.parametrize("moved", [{}, {"stamps": 17}], ids=["as it is", "moved"])
def test_no_gateware_is_built_in_which_the_user_shares_a_page(tmp_path, moved):
    """The check is part of the elaboration: a bank 2 KiB behind the user's ends it."""
    script = ELABORATE.format(moved=moved, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode != 0) == bool(moved), done.stderr
    if moved:
        assert "block user at 0x8000 of BAR0 shares its pages with stamps" in done.stderr


def test_the_user_s_pages_grow_with_its_registers():
    """A bank of one register and one of 600 both take whole pages, in BAR0 and on their own."""
    for registers, size in ((1, 0x1000), (600, 0x1000), (1100, 0x2000)):
        names = [f"r{n}" for n in range(registers)]
        soc = csr_soc({"user": (0x8000, names)})
        [block] = capability._user_blocks(soc)
        assert (block.offset, block.size) == (0x8000, size)
        capability.check_pages([block], capability.register_banks(soc))


def csr_soc(banks):
    """What capability.py looks at of a SoC: where its registers are, each of 32 bits."""
    regions = {
        name: SimpleNamespace(origin=origin, busword=32,
            obj=[SimpleNamespace(name=register, size=32) for register in registers])
        for name, (origin, registers) in banks.items()
    }
    return SimpleNamespace(csr=SimpleNamespace(regions=regions), constants={"USER_INTERRUPT": 2})


def test_a_reader_passes_over_what_it_does_not_know():
    """A block of an unknown type, and a parameter more, leave the others where they are found."""
    known = Block("pattern", 0x5000, 0x800, {"control": 0})
    words = capability.table("x", DIGEST, [known, known])
    entry_words = known.words()
    longer = entry_words[:1] + [entry_words[1] + 8] + entry_words[2:] + [7, 0]
    unknown = [0x0001_03e7, 24, 0, 0, 1, 2]
    body = capability.HEADER_WORDS
    words[body:body + len(entry_words)] = unknown + longer
    words[capability.HEADER["blocks"]] = 3
    words[capability.HEADER["bytes"]]  = 4*len(words)
    words[capability.HEADER["crc"]]    = 0
    words[capability.HEADER["crc"]]    = zlib.crc32(struct.pack(f"<{len(words)}I", *words))
    _, entries = decode(words)
    assert [e[0] for e in entries] == [999, 10, 10]
    assert [e[4] for e in entries[1:]] == [0x5000, 0x5000]


@pytest.mark.parametrize("make, message", [
    (lambda: capability.table("t"*32, DIGEST, []), "has 32 characters.*room for 31"),
    (lambda: capability.table("t", DIGEST, [Block("memory", 0, 4, {})]*300), "there is room for"),
    (lambda: Block("pattern", 0, 4, {}).words(), r"parameters are \[\]; they must be"),
    (lambda: Block("pattern", 0, 4, {"contro": 0}).words(), "they must be"),
], ids=["target", "blocks", "missing", "misspelt"])
def test_what_cannot_be_said_is_refused(make, message):
    """A ValueError that names the value and the rule."""
    with pytest.raises(ValueError, match=message):
        make()


def test_the_c_header_is_the_table_s():
    """software/kernel/uapi/litepcie_capability.h is what `python -m lanebox.capability` prints."""
    assert HEADER.read_text() == capability.c_header()


def test_numbers_of_block_types_are_their_own():
    """Types are numbered once; every name in the C header is defined once."""
    numbers = [kind.number for kind in BLOCK_TYPES.values()]
    assert len(set(numbers)) == len(numbers) and 0 not in numbers
    names = re.findall(r"#define (\w+) ", capability.c_header())
    assert len(set(names)) == len(names)
