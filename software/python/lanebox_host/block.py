# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The end of a `with` block, which is the same for a card, a DMA run and a capture."""

from __future__ import annotations

from types import TracebackType


class WithBlock:
    """Base class of a card, a DMA run and a capture, which can be used in a `with` block.

    At the end of the block the object is stopped, and then closed even if the stop fails.
    """

    def _stop(self) -> None:
        """Stop the object's DMA or capture. A class with nothing to stop keeps this default."""

    def _close(self) -> None:
        """Close the object and free what it holds in the library."""
        raise NotImplementedError

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._stop()
        except (OSError, ValueError):
            # If an exception has ended the `with` block, that exception is raised, and not the one
            # of the failed stop.
            if error is None:
                raise
        finally:
            self._close()
