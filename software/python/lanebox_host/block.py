# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""End the `with` blocks of a card, a stream and a capture in the same way."""

from __future__ import annotations

from types import TracebackType


class WithBlock:
    """Base class of objects that a `with` block ends: the object is stopped, and then closed even
    if the stop fails."""

    def _stop(self) -> None:
        """Stop what runs. By default nothing runs."""

    def _close(self) -> None:
        """Close what is open."""
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
            # The error that ended the `with` block has already said that the card is gone, so the
            # error of the stop is dropped.
            if error is None:
                raise
        finally:
            self._close()
