# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util rescan, with a sysfs that the test makes."""

import json
import time

from software.test.standin.sysfs_standin import PCI

CARD = "0000:22:00.0"


def test_rescan_removes_the_card_and_looks_again(util, machine):
    """litepcie_util rescan writes to the card's `remove` and to the bus' `rescan` in sysfs.

    The card is given by its address or by its device node.
    """
    place = machine.add(CARD, driver="litepcie")
    machine.node(0, place)
    for arguments in (["rescan", "22:00.0"], ["-c", "0", "rescan"]):
        (place / "remove").write_text("")
        machine.write(f"{PCI}/rescan", "")
        status, found = util.report(*arguments)
        assert status == 0 and found["address"] == CARD and found["driver"] == "litepcie"
        assert (place / "remove").read_text() == "1"
        assert machine.read(f"{PCI}/rescan") == "1"


def test_rescan_looks_again_until_the_card_is_there(util, machine):
    """litepcie_util rescan lets the kernel search the bus again until the card is found, for some
    seconds: the kernel does not find an FPGA that still configures itself.
    """
    place = machine.add(CARD, driver="litepcie")
    (place / "vendor").rename(place / "away")
    begin = time.monotonic()
    process = util.start("--json", "rescan", CARD)
    for _ in range(2):
        deadline = time.monotonic() + 30
        while machine.read(f"{PCI}/rescan") != "1":
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        machine.write(f"{PCI}/rescan", "")
    # litepcie_util lets the kernel search about every half second.
    assert time.monotonic() - begin >= 0.5
    (place / "away").rename(place / "vendor")
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and json.loads(text)["address"] == CARD


def test_an_address_that_cannot_be_is_a_sentence(util):
    """rescan refuses an argument that is no PCI address with status 2."""
    result = util.run("rescan", "card")
    assert result.returncode == 2 and "an address is like" in result.stderr
