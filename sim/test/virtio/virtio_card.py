# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A card in software with two virtio devices, for the tests of litepcie_virtio.ko.

The program is made of the C++ files in this folder, of the board's vfio-user server and of its
configuration space. It is the device of VirtIO 1.2 as this folder reads the standard, and shares
nothing with the gateware's engine.
"""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

from gateware import numbers
from gateware.observe import capability
from gateware.observe.capability import Block
from sim.board import build
from sim.board.process import BoardProcess
from sim.test.driver import made_up_blocks
from sim.test.model.probe_build import build_program

HERE = Path(__file__).resolve().parent
# Sources of the board that the program is made of, beside those of the folder vfio_user.
PARTS = (
    "control/control.cpp",
    "link/config_space.cpp",
    "link/errors.cpp",
    "link/tlp.cpp",
    "link/wire_header.cpp",
    "text/words.cpp",
)
BAR_BYTES = numbers.BAR0_SIZE
NET, CONSOLE = 0x8000, 0x9000  # offsets in BAR0 of the register pages of both virtio devices
NET_CAUSE, CONSOLE_CAUSE = 4, 7
QUEUES, QUEUE_SIZE = 2, numbers.VIRTIO_QUEUE_SIZE
NET_TYPE, CONSOLE_TYPE = 1, 3  # the standard's numbers for a net device and for a console
VECTORS, MSIX_TABLE, MSIX_PENDING = 32, 0x4000, 0x4800


def program() -> Path:
    """Compile the program virtio_card, if its sources have changed; returns its path."""
    folders = (HERE, build.BOARD / "vfio_user")
    sources = [path for folder in folders for path in sorted(folder.glob("*.cpp"))]
    sources += [build.BOARD / part for part in PARTS]
    headers = [path for path in sorted(HERE.glob("*.hpp"))]
    headers += [
        p for part in ("vfio_user", "link") for p in sorted((build.BOARD / part).glob("*.hpp"))
    ]
    # At -O1 gcc takes a text of guest_memory.cpp for longer than it can be.
    flags = ("-Wno-format-truncation",)
    return build_program("virtio_card", sources, [*headers, build.numbers_header()], flags)


def blocks(msix: bool = False) -> list[Block]:
    """Return the entries of the card's capability table."""
    delivery = capability.DELIVERY_MSI | (capability.DELIVERY_MSIX if msix else 0)
    return [
        made_up_blocks.interrupts(delivery),
        made_up_blocks.dma(),
        virtio_block(0, NET, NET_TYPE, NET_CAUSE),
        virtio_block(1, CONSOLE, CONSOLE_TYPE, CONSOLE_CAUSE),
    ]


def virtio_block(index: int, page: int, device: int, cause: int, **changes) -> Block:
    """Return the capability table's entry for a virtio device. `changes` replace parameters."""
    parameters = {"device": device, "queues": QUEUES, "cause": cause, "queue_size": QUEUE_SIZE}
    return Block("virtio", page, 0x1000, {**parameters, **changes}, index)


class VirtioCard(BoardProcess):
    """The running card: `with VirtioCard() as card:`. It takes the commands of a board that it
    knows: `stats`, `fault remove`, `fault insert`, and `link up`, `link down`, `net stick` and
    `net free` of the net device, whose resets do not end while it sticks.

    `entries` are the blocks of its capability table.
    """

    def __init__(self, msix: bool = False, entries: list[Block] | None = None):
        self.table = tempfile.NamedTemporaryFile(prefix="lanebox-table-")
        words = capability.table("virtio_card", "00" * 32, entries or blocks(msix))
        words += [0] * (numbers.CAPABILITY_SIZE // 4 - len(words))
        self.table.write(struct.pack(f"<{len(words)}I", *words))
        self.table.flush()
        places = {
            "bar": BAR_BYTES,
            "table": self.table.name,
            "table-at": numbers.CAPABILITY_BASE,
            "interrupts": made_up_blocks.INTERRUPTS_AT,
            "dma": made_up_blocks.DMA_AT,
            "net": NET,
            "net-cause": NET_CAUSE,
            "console": CONSOLE,
            "console-cause": CONSOLE_CAUSE,
        }
        if msix:
            places |= {"msix": VECTORS, "msix-table": MSIX_TABLE, "msix-pending": MSIX_PENDING}
        super().__init__(
            program(),
            [word for name, value in places.items() for word in (f"--{name}", str(value))],
        )

    def __exit__(self, *_) -> None:
        super().__exit__()
        self.table.close()
