# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of observe/capability.py: the form of the capability table, which older software can read,
and the pages that users may map.
"""

import dataclasses
import struct
import subprocess
import sys
import zlib

import pytest

from gateware.observe import capability
from gateware.observe.capability import Block
from gateware.test.observe.capability_table import decode
from tools.testing.repository import ROOT

DIGEST = "0123456789abcdef" * 4


USER = Block("user", 0x8000, 0x1000, {"cause": 2})


def test_a_block_may_have_another_version_than_its_type():
    """The entry of a block in the capability table has the version of the block's type, unless the
    block has a version of its own.
    """
    mine = dataclasses.replace(USER, version=capability.USER_WITH_COMMANDS)
    place = capability.ENTRY["type"]
    assert [block.words()[place] >> 16 for block in (USER, mine)] == [1, 2]


@pytest.mark.parametrize(
    "blocks, banks, message",
    [
        (
            [USER],
            {"user": (0x8000, 0x800), "spare": (0x8800, 0x800)},
            "shares its pages with spare",
        ),
        (
            [USER],
            {"user": (0x8000, 0x800), "early": (0x7800, 0x1000)},
            "shares its pages with early",
        ),
        (
            [Block("user", 0x8800, 0x1000, {"cause": 2})],
            {},
            "0x1000 bytes at 0x8800 of BAR0 are no",
        ),
        ([Block("user", 0x8000, 0x800, {"cause": 2})], {}, "0x800 bytes at 0x8000 of BAR0 are no"),
        (
            [USER, Block("pattern", 0x8800, 0x800, {"control": 0})],
            {},
            "shares its pages with pattern",
        ),
        ([Block("user_window", 0x100400, 0x1000, {}, bar=2)], {}, "BAR2 are no whole pages"),
        (
            [
                Block("user_window", 0x80000, 0x1000, {}, bar=2),
                Block("memory", 0x80000, 0x1000, {}, bar=2),
            ],
            {},
            "shares its pages with memory",
        ),
    ],
    ids=["bank behind", "bank before", "place", "size", "block", "window", "window and memory"],
)
def test_a_card_whose_user_shares_a_page_is_refused(blocks, banks, message):
    """If a block shares a page with a block that users may map, the build fails and names both."""
    with pytest.raises(ValueError, match=message):
        capability.check_pages(blocks, banks)


# Script that builds the simulation's gateware with user logic that has registers. `moved` moves a
# bank of registers to another page.
ELABORATE = """
import runpy, sys
from gateware import numbers
numbers.CSR_LOCATIONS.update({moved})
sys.argv = ["sim.py", "--build", "--user", "gateware.user.axi_memory:SlowMemoryOnAxi",
    "--output-dir", {folder!r}]
runpy.run_path("targets/sim.py", run_name="__main__")
"""


@pytest.mark.parametrize("moved", [{}, {"stamps": 17}], ids=["as it is", "moved"])
def test_no_gateware_is_built_in_which_the_user_shares_a_page(tmp_path, moved):
    """A build fails if another bank of registers lies in the page of the user logic's registers."""
    script = ELABORATE.format(moved=moved, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode != 0) == bool(moved), done.stderr
    if moved:
        assert "block user at 0x8000 of BAR0 shares its pages with stamps" in done.stderr


def test_a_reader_passes_over_what_it_does_not_know():
    """A reader of the capability table skips unknown blocks and parameters, and finds all
    others.
    """
    known = Block("pattern", 0x5000, 0x800, {"control": 0})
    words = capability.table("x", DIGEST, [known, known])
    entry_words = known.words()
    longer = entry_words[:1] + [entry_words[1] + 8] + entry_words[2:] + [7, 0]
    unknown = [0x0001_03E7, 24, 0, 0, 1, 2]
    body = capability.HEADER_WORDS
    words[body : body + len(entry_words)] = unknown + longer
    words[capability.HEADER["blocks"]] = 3
    words[capability.HEADER["bytes"]] = 4 * len(words)
    words[capability.HEADER["crc"]] = 0
    words[capability.HEADER["crc"]] = zlib.crc32(struct.pack(f"<{len(words)}I", *words))
    _, entries = decode(words)
    assert [e[0] for e in entries] == [999, 10, 10]
    assert [e[4] for e in entries[1:]] == [0x5000, 0x5000]


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: capability.table("t" * 32, DIGEST, []), "has 32 characters.*room for 31"),
        (
            lambda: capability.table("t", DIGEST, [Block("memory", 0, 4, {})] * 300),
            "there is room for",
        ),
        (lambda: Block("pattern", 0, 4, {}).words(), r"parameters are \[\]; they must be"),
        (lambda: Block("pattern", 0, 4, {"contro": 0}).words(), "they must be"),
    ],
    ids=["board", "blocks", "missing", "misspelt"],
)
def test_what_cannot_be_said_is_refused(make, message):
    """A capability table that cannot be encoded is refused with the value and the rule that it
    breaks.
    """
    with pytest.raises(ValueError, match=message):
        make()
