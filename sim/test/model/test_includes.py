# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The board's C++ folders have a fixed order, LAYERS. No file includes one of a later folder, so
includes make no circle. Every include names a file that exists."""

import re
from pathlib import Path

import pytest

from sim.board.build import BOARD, LAYERS, include_flags

INCLUDE = re.compile(r'^#include "(?:(\w+)/)?[\w.]+"', re.MULTILINE)
SOCKET = "vfio_user"


def folders_included(path):
    return set(INCLUDE.findall(path.read_text()))


@pytest.mark.parametrize("folder", LAYERS)
def test_no_include_goes_up(folder):
    """A file of the board includes only its own folder and the folders before it in LAYERS.

    An include without a folder is a generated header, or the library's description of the messages.
    """
    allowed = {*LAYERS[: LAYERS.index(folder) + 1], ""}
    inside = sorted((BOARD / folder).glob("*.[ch]pp"))
    assert inside
    for path in inside:
        assert folders_included(path) <= allowed, path.relative_to(BOARD)


def test_the_socket_knows_nothing_of_the_model():
    """The vfio-user server (the folder vfio_user) includes its own folder only.

    protocol.hpp includes the library's description of the messages as well.
    """
    for path in sorted((BOARD / SOCKET).glob("*.[ch]pp")):
        shared = {""} if path.name == "protocol.hpp" else set()
        assert folders_included(path) <= {SOCKET} | shared, path.name


def test_every_file_of_the_board_is_in_a_layer():
    """Every folder of the board's C++ sources is in LAYERS, except the folder `ideal` of the ideal
    users."""
    found = {path.parent.name for path in BOARD.glob("*/*.[ch]pp")}
    assert found == {*LAYERS, "ideal"}


def test_every_include_names_a_file_that_there_is():
    """Every include of the board names a file that exists. The test looks for each file, because a
    cached build would not show that a header has moved.

    Verilator brings the headers of the Verilated gateware and of DPI, so these are not looked for.
    """
    folders = [Path(flag.removeprefix("-I")) for flag in include_flags()]
    for path in sorted(BOARD.rglob("*.[ch]pp")):
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            made = name.startswith(("Vlanebox", "verilated", "svdpi"))
            assert made or any((folder / name).is_file() for folder in folders), (path.name, name)
