# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test commands of litepcie_util that use the card's flash, sensors, modules or management CPU, or
that reboot the FPGA, if the card cannot be opened.
"""

import struct

import pytest

from gateware.card.cpu import image, layout

COMMANDS = ["sensors", "module A", "flash info", "flash read copy.bin", "reboot", "console"]
COMMANDS += ["firmware", "firmware load image.bin"]
# name of a card that does not exist, one for each back end -> a part of the error message
WAYS = {
    "{tmp}/litepcie9": "no such device; load the driver",
    "vfio:0000:ff:1f.0": "there is no PCI device 0000:ff:1f.0",
    "sim:{tmp}/board.sock": "start the board with --socket",
}


@pytest.mark.parametrize("way", WAYS, ids=["driver", "vfio", "sim"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_card_that_is_not_there_is_one_sentence(util, tmp_path, command, way):
    """If there is no card, each command in COMMANDS ends with status 1 and one sentence that says
    what the user can do.
    """
    # The file is a firmware image for the card's CPU: one jump to itself. `firmware load` would
    # refuse a wrong image before it opens the card.
    raw = image.seal(struct.pack("<4I", 0x6F, layout.IMAGE_MAGIC, 0, 0))
    (tmp_path / "image.bin").write_bytes(raw)
    words = [str(tmp_path / word) if word.endswith(".bin") else word for word in command.split()]
    done = util.run("-d", way.format(tmp=tmp_path), *words)
    assert done.returncode == 1
    (said,) = done.stderr.splitlines()
    assert WAYS[way] in said
