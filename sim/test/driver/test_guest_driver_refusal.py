# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The driver refuses a card whose capability table is not valid, with a sentence that says why.

The card is QEMU's bochs-display, whose BAR0 is plain memory. The test writes capability tables into
it.
"""

import struct
import zlib

import pytest

from gateware import numbers
from gateware.observe import capability
from gateware.observe.capability import HEADER, HEADER_WORDS, Block
from sim.guest import run
from sim.test.driver.driver_guest import boot, kernels
from sim.test.driver.made_up_blocks import capture, dma, interrupts

pytestmark = pytest.mark.guest
KERNELS = [None, *(pytest.param(series, marks=pytest.mark.soak) for series in kernels()[1:])]

DIGEST = "00" * 32
INTERRUPTS = interrupts()


def sealed(entries, **header):
    """Return the words of a capability table with a right checksum.

    `header` replaces words of the table's header. An entry is a Block, or a list of bare words.
    """
    words = capability.table("test", DIGEST, [e for e in entries if isinstance(e, Block)])
    for raw in (e for e in entries if not isinstance(e, Block)):
        words += raw
        words[HEADER["blocks"]] += 1
    words[HEADER["bytes"]] = 4 * len(words)
    for name, value in header.items():
        words[HEADER[name]] = value
    words[HEADER["crc"]] = 0
    size = min(words[HEADER["bytes"]], 4 * len(words))
    words[HEADER["crc"]] = zlib.crc32(struct.pack(f"<{len(words)}I", *words)[:size])
    return words


def damaged():
    words = sealed([INTERRUPTS, dma()])
    words[HEADER_WORDS + 3] ^= 1
    return words


# {name: (words of a capability table, part of the message with which the driver refuses it)}
TABLES = {
    "none": ([0] * 40, "no capability table at BAR0"),
    "ones": ([0xFFFFFFFF] * 40, "does not answer"),
    "major": (sealed([], version=2 << 16), "has version 2.0, this driver knows 1"),
    "short": (sealed([], bytes=16), "says it has 16 bytes"),
    "long": (sealed([], bytes=0x1008), "says it has 4104 bytes"),
    "damaged": (damaged(), "is damaged"),
    "count": (sealed([INTERRUPTS], blocks=0x10000000), "has a block that is not valid"),
    "count2": (sealed([INTERRUPTS], blocks=3), "has a block that is not valid"),
    "length": (sealed([[0x10005, 4, 0, 0]]), "has a block that is not valid"),
    "beyond": (sealed([[0x10005, 0x7FF8, 0, 0]]), "has a block that is not valid"),
    "outside": (sealed([Block("memory", 0xFFFFF000, 0x2000, {})]), "has a block that is not valid"),
    "bar": (sealed([Block("memory", 0, 4, {}, bar=6)]), "has a block that is not valid"),
    "absent": (sealed([Block("memory", 0, 4, {}, bar=4)]), "BAR4 has no address"),
    "no-dma": (sealed([INTERRUPTS]), "no DMA channel that can be driven"),
    "group": (sealed([INTERRUPTS, dma(h2c=0x7F0)]), "no DMA channel that can be driven"),
    "cause": (sealed([INTERRUPTS, dma(c2h_cause=32)]), "no DMA channel that can be driven"),
    "causes": (sealed([INTERRUPTS, dma(c2h_cause=0)]), "no DMA channel that can be driven"),
    "loopback": (sealed([INTERRUPTS, dma(loopback=0x800)]), "no DMA channel that can be driven"),
    "odd": (sealed([INTERRUPTS, dma(h2c=2)]), "no DMA channel that can be driven"),
    "depth": (sealed([INTERRUPTS, dma(table_depth=4)]), "no DMA channel that can be driven"),
    "deep": (sealed([INTERRUPTS, dma(table_depth=0x10001)]), "no DMA channel that can be driven"),
    "deepest": (sealed([INTERRUPTS, dma(table_depth=(1 << 32) - 1)]), "no DMA channel that can"),
    "no-irq": (sealed([dma()]), "no usable interrupt block"),
    # Here the driver only warns, and refuses the card because it gets no MSI.
    "capture": (
        sealed([INTERRUPTS, dma(), capture(cause=1)]),
        "the capture block's interrupt cause 1 is also that of another block",
    ),
    "user": (
        sealed([INTERRUPTS, dma(), capture(cause=2), Block("user", 0x4000, 0x1000, {"cause": 2})]),
        "the interrupt of the capability table's user block is not free",
    ),
    # This table is valid, but the display has no MSI. So the driver's probe must undo what it has
    # done.
    "no-msi": (sealed([[0x103E7, 24, 0, 0, 1, 2], INTERRUPTS, dma()]), "gives this card no MSI"),
}
DISPLAY = ("-device", "bochs-display")
# Commands for a guest: write each capability table of TABLES into the device, and let the driver
# refuse the device.
REFUSED = [
    "driver=/sys/bus/pci/drivers/litepcie",
    "card=$(grep -l 0x1111 /sys/bus/pci/devices/*/device); card=${card%/device}",
    "echo 1234 1111 >$driver/new_id; dmesg -c >/dev/null",
    "echo 1 >$card/enable",
    "for table in /tables/*; do",
    f"stress poke $card/resource0 {numbers.CAPABILITY_BASE:#x} $table",
    "! echo ${card##*/} >$driver/bind 2>/dev/null",
    "[ ! -e /dev/litepcie0 -a ! -e $card/driver ]",
    "dmesg -c >/out/${table##*/}; done",
    "rmmod litepcie; ! grep -q litepcie /proc/iomem",
]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_card_without_a_sound_table_is_refused(kernel):
    """The driver refuses a card with each table of TABLES, with the sentence for that table, and
    leaves nothing behind."""
    result = boot(None, REFUSED, kernel, files=tables(), devices=DISPLAY)
    check_refused(result.files)


def tables():
    """Return [(content, path in the guest), ...] with one file for each capability table of
    TABLES."""
    return [
        (struct.pack(f"<{len(words)}I", *words), f"tables/{name}")
        for name, (words, _) in TABLES.items()
    ]


def check_refused(files):
    """Fail unless the guest's kernel log has the driver's sentence about each table of TABLES."""
    for name, (_, sentence) in TABLES.items():
        assert sentence in files[name].decode(), (name, files[name].decode())
