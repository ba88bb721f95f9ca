# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Errors that end a simulation run with one sentence to the user instead of a traceback."""


class SimError(RuntimeError):
    """A simulation run failed. The message quotes the failing program and says what to do next."""


class BuildError(SimError):
    """A build step failed. The message has the step's name and the end of its output."""


class BoardFailed(SimError):
    """The board process did not start, it ended early, or it refused a command."""


class TestFailed(SimError):
    """A test of the card failed: litepcie_util, or a client, found an error."""

    __test__ = False  # Without this attribute pytest would take this class for a test, by its name.
