# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of lanebox_host/block.py: the end of a `with` block stops an object and then closes it,
also if the block or the stop fails."""

import pytest


@pytest.fixture
def make(host):
    """Return a function that makes an object for a `with` block. The object's list `calls` has an
    entry for each stop and each close.

    The argument `error` is the exception that the object's stop raises; None: it raises none.
    """
    from lanebox_host.block import WithBlock

    class Object(WithBlock):
        def __init__(self, error=None):
            self.error, self.calls = error, []

        def __enter__(self):
            return self

        def _stop(self):
            self.calls.append("stop")
            if self.error:
                raise self.error

        def _close(self):
            self.calls.append("close")

    return Object


def test_the_end_stops_and_then_closes(make):
    """At the end of the block the object is stopped, then closed, also after an error."""
    block = make()
    with block:
        assert block.calls == []
    assert block.calls == ["stop", "close"]
    block = make()
    with pytest.raises(KeyError), block:
        raise KeyError
    assert block.calls == ["stop", "close"]


@pytest.mark.parametrize("error", [OSError("stop"), ValueError("stop")], ids=repr)
def test_a_failed_stop_is_told_unless_the_block_failed(make, error):
    """If the stop fails with an OSError or a ValueError, the object is closed, and the error is
    raised. If the `with` block has failed before, the error of the block is raised, since it says
    more."""
    block = make(error)
    with pytest.raises(type(error), match="stop"), block:
        pass
    assert block.calls == ["stop", "close"]
    block = make(error)
    with pytest.raises(KeyError, match="first"), block:
        raise KeyError("first")
    assert block.calls == ["stop", "close"]


def test_a_fault_of_the_program_is_never_hidden(make):
    """An error of the stop that is neither an OSError nor a ValueError is raised, also if the
    `with` block has failed before."""
    block = make(RuntimeError("stop"))
    with pytest.raises(RuntimeError, match="stop"), block:
        raise KeyError("first")
    assert block.calls == ["stop", "close"]


def test_an_object_without_a_stop_is_closed(host):
    """A class need not define how to stop, but it must define how to close."""
    from lanebox_host.block import WithBlock

    class Closed(WithBlock):
        closed = False

        def _close(self):
            self.closed = True

    block = Closed()
    block.__exit__(None, None, None)
    assert block.closed
    with pytest.raises(NotImplementedError):
        WithBlock().__exit__(None, None, None)
