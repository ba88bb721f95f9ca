# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Define the library's errors as exceptions: each is an OSError with its errno and a sentence."""

from __future__ import annotations

import errno
from typing import NoReturn


class LaneboxError(OSError):
    """The base class of the package's own exceptions, each of which has an errno."""

    def __str__(self) -> str:
        """Return the sentence about the error, without the errno in front."""
        return self.strerror or super().__str__()


class CardGone(LaneboxError):
    """ENODEV: for example the card is gone, the board process has ended, or no card is bound to the
    driver.

    A capture raises it, too, if the card has no capture block.
    """


class CardSilent(LaneboxError):
    """EIO: for example the card reads all ones, reports impossible counts, or was reset while a
    stream or a capture ran.
    """


class WaitTimeout(LaneboxError, TimeoutError):
    """ETIMEDOUT: a DMA buffer, a frame, an interrupt or another answer of the card did not come in
    time.
    """


class WayBusy(LaneboxError):
    """EBUSY: another program uses the DMA direction, the capture, the interrupt of the user's logic
    or the card, or this open card already has a run of the DMA or a capture.
    """


class WrongPeer(LaneboxError):
    """EPROTO: the peer speaks another protocol, is no Lanebox card or is of a version that the
    library does not know, or csr.json is of another build than the card or was not written by
    LiteX.
    """


class Unsupported(LaneboxError):
    """EOPNOTSUPP: this card, or the back end by which it is reached, cannot do what is asked."""


class BadPacket(LaneboxError):
    """EBADMSG: the logic in the card has marked a packet as bad.

    The attribute `data` has the bytes that were received.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(errno.EBADMSG, f"a packet of {len(data)} bytes came with an error")
        self.data = data


class Overwritten(LaneboxError):
    """EOVERFLOW: with a capture's option `newest` the card has written over a block before the
    program gave it back. What was read from the block may be wrong.
    """


class NotOnCard(LaneboxError, KeyError):
    """ENOENT: for example the card has no such register, block or BAR, or there is no such device
    file, socket or csr.json.
    """

    # The __str__ of KeyError would show the library's sentence in quotes.
    __str__ = LaneboxError.__str__


KINDS = {
    errno.ENODEV: CardGone,
    errno.EIO: CardSilent,
    errno.ETIMEDOUT: WaitTimeout,
    errno.EBUSY: WayBusy,
    errno.EPROTO: WrongPeer,
    errno.EOPNOTSUPP: Unsupported,
    errno.ENOENT: NotOnCard,
    errno.EOVERFLOW: Overwritten,
}


def fail(code: int, sentence: str) -> NoReturn:
    """Raise the exception of the errno `code` with the text `sentence`. Its class is that of KINDS,
    or LaneboxError if KINDS has none for `code`.
    """
    raise KINDS.get(code, LaneboxError)(code, sentence)
