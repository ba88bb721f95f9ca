# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The library's errors as exceptions: each is an OSError with its errno and a sentence."""

from __future__ import annotations

import errno
from typing import NoReturn


class LaneboxError(OSError):
    """Anything that the library refused or that the card did not do."""

    def __str__(self) -> str:
        """The sentence, without a number in front."""
        return self.strerror or super().__str__()


class CardGone(LaneboxError):
    """The board process left, or nothing is bound to the driver."""


class CardSilent(LaneboxError):
    """The card reads all ones, reports the impossible, or was reset while a stream ran."""


class WaitTimeout(LaneboxError, TimeoutError):
    """Nothing came in time."""


class WayBusy(LaneboxError):
    """Somebody else has this direction."""


class WrongPeer(LaneboxError):
    """Another protocol, another card, or another version of it."""


class Unsupported(LaneboxError):
    """This way to the card cannot do it."""


class BadPacket(LaneboxError):
    """The card's logic said that this packet has an error; `data` is what came of it."""

    def __init__(self, data: bytes) -> None:
        super().__init__(errno.EBADMSG, f"a packet of {len(data)} bytes came with an error")
        self.data = data


class NotOnCard(LaneboxError, KeyError):
    """The card has no such register, block or BAR."""

    __str__ = LaneboxError.__str__  # KeyError would show it in quotes


KINDS = {
    errno.ENODEV: CardGone,
    errno.EIO: CardSilent,
    errno.ETIMEDOUT: WaitTimeout,
    errno.EBUSY: WayBusy,
    errno.EPROTO: WrongPeer,
    errno.EOPNOTSUPP: Unsupported,
    errno.ENOENT: NotOnCard,
}


def fail(code: int, sentence: str) -> NoReturn:
    """Raise what belongs to this errno."""
    raise KINDS.get(code, LaneboxError)(code, sentence)
