# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Access registers, memory and DMA of a Lanebox card, by the C library liblitepcie.

with Card("/dev/litepcie0") as card:
    card.registers["ctrl_scratch"] = 1
    with card.receive() as stream:
        for buffer in stream:           # a NumPy array in the DMA's ring, not a copy
            ...

Timeouts are in seconds. With 0 a call looks and does not wait. With a negative timeout or infinity
it waits for ever. When the time is over, each call with a timeout raises WaitTimeout, whose errno
is ETIMEDOUT. Without a timeout, or with None, a wait of a run or a capture lasts at most as long as
its option `timeout` says.

The default of this option is 10 seconds for a run of the DMA, since its buffers follow from what
the program does. A wait for an interrupt has the same default. A capture waits for ever by default,
since frames come when others send them.
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
