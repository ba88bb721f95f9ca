# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The library's errors as exceptions: each is an OSError with its errno and a sentence."""

from __future__ import annotations

import errno
from typing import NoReturn


class LaneboxError(OSError):
    """The base class of all errors of the library."""

    def __str__(self) -> str:
        """The library's sentence, without the errno in front."""
        return self.strerror or super().__str__()


class CardGone(LaneboxError):
    """ENODEV: the card is gone, the board process has ended, or no card is bound to the driver."""


class CardSilent(LaneboxError):
    """EIO: the card reads all ones, reports impossible counts, or was reset while a stream ran."""


class WaitTimeout(LaneboxError, TimeoutError):
    """ETIMEDOUT: no buffer or interrupt came in time."""


class WayBusy(LaneboxError):
    """EBUSY: the direction, its interrupt, or the card is in use by another program, or DMA of this
    handle already runs.
    """


class WrongPeer(LaneboxError):
    """EPROTO: another protocol, another card, or a version of it that the library does not know."""


class Unsupported(LaneboxError):
    """EOPNOTSUPP: this card, or this back end, cannot do what the call asks."""


class BadPacket(LaneboxError):
    """EBADMSG: the logic in the card has marked this packet as bad. `data` is what was received."""

    def __init__(self, data: bytes) -> None:
        super().__init__(errno.EBADMSG, f"a packet of {len(data)} bytes came with an error")
        self.data = data


class NotOnCard(LaneboxError, KeyError):
    """ENOENT: the card has no such register, block or BAR."""

    __str__ = LaneboxError.__str__  # KeyError's own __str__ would show the sentence in quotes


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
    """Raise the exception that belongs to this errno."""
    raise KINDS.get(code, LaneboxError)(code, sentence)
