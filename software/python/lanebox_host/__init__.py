# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Access registers, memory and DMA of a Lanebox card, by the C library liblitepcie.

with Card("/dev/litepcie0") as card:
    card.registers["ctrl_scratch"] = 1
    with card.receive() as stream:
        for buffer in stream:           # a NumPy array in the DMA's ring, not a copy
            ...
"""

from lanebox_host.capture import Block, Capture, CaptureStats
from lanebox_host.card import Card, Slot, SlotSide
from lanebox_host.counters import Counters, Stream
from lanebox_host.dma import Loopback, Receive, Send
from lanebox_host.errors import (
    BadPacket,
    CardGone,
    CardSilent,
    LaneboxError,
    NotOnCard,
    Overwritten,
    Unsupported,
    WaitTimeout,
    WayBusy,
    WrongPeer,
)

__all__ = [
    "BadPacket",
    "Block",
    "Capture",
    "CaptureStats",
    "Card",
    "CardGone",
    "CardSilent",
    "Counters",
    "LaneboxError",
    "Loopback",
    "NotOnCard",
    "Overwritten",
    "Receive",
    "Send",
    "Slot",
    "SlotSide",
    "Stream",
    "Unsupported",
    "WaitTimeout",
    "WayBusy",
    "WrongPeer",
]
