# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Entries of the capability table of cards that tests make up: interrupts, a DMA channel and a
capture.
"""

from gateware.observe import capability
from gateware.observe.capability import Block

INTERRUPTS_AT = 0x1800  # offset of the made-up block in BAR0, in bytes
DMA_AT = 0x2000
CAPTURE_AT = 0x3000


def interrupts(delivery: int = capability.DELIVERY_MSI) -> Block:
    """Return the capability table's entry of interrupts, for a card with 32 interrupt causes."""
    registers = {"delivery": delivery, "causes": 32, "enable": 0, "clear": 4, "vector": 8}
    return Block("interrupts", INTERRUPTS_AT, 0x800, registers)


def dma(**changes: int) -> Block:
    """Return the capability table's entry of a DMA channel. `changes` replace its parameters."""
    parameters = {
        "h2c": 0x20,
        "c2h": 0,
        "loopback": 0x40,
        "table_depth": 256,
        "address_width": 64,
        "h2c_cause": 0,
        "c2h_cause": 1,
        "h2c_buffered": 8192,
        "c2h_buffered": 8192,
        "h2c_settled": 1,
        "h2c_taken": 1,
    }
    return Block("dma", DMA_AT, 0x800, {**parameters, **changes})


def capture(cause: int) -> Block:
    """Return the capability table's entry of a capture block with this interrupt cause. Each of
    the block's register groups has 128 bytes.
    """
    names = capability.BLOCK_TYPES["capture"].parameters
    groups = {name: 0x80 * n for n, name in enumerate(names)}
    counts = {"segments": 64, "staging_bytes": 0x10000, "cause": cause}
    return Block("capture", CAPTURE_AT, 0x800, {**groups, **counts})
