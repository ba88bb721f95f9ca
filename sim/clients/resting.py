# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A vfio-user client whose part in a measurement does not depend on how busy the machine is.

It sends a message only while device time stands still. So each message reaches the card in a cycle
that follows from the messages before, and what the client does between two messages, such as
writing host memory, takes no device time.
"""

from __future__ import annotations

import time

from sim.board.process import BoardProcess
from sim.clients.vfio import VfioClient
from sim.errors import TestFailed

SECONDS = 60  # Waiting for an idle card fails after this many seconds of wall time.
STEP = 0.0005  # The client asks the board for the cycle again after this many seconds.


class RestingClient(VfioClient):
    """The only client of a board, on which no command is planned and none is given but `stats`."""

    def __init__(self, board: BoardProcess):
        self.board = board
        super().__init__(board.socket)

    def rest(self) -> None:
        """Wait until the card has no more work, so that device time stands still.

        A board that has work runs a batch of cycles between two answers on its control socket. So
        there was no work if two answers have the same cycle.
        """
        deadline = time.monotonic() + SECONDS
        last, now = None, self._cycle()
        while now != last:
            if time.monotonic() > deadline:
                raise TestFailed(f"the card still works after {SECONDS} s")
            if last is not None:
                time.sleep(STEP)
            last, now = now, self._cycle()

    def _cycle(self) -> int:
        return self.board.stats()["cycles"]

    def send(self, *args, **kwargs):
        """Send a request as soon as device time stands still, and return its message number."""
        self.rest()
        return super().send(*args, **kwargs)
