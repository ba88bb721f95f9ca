# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What can go wrong on the way to a table, as far as a user is told it in a sentence."""


class SimError(RuntimeError):
    """The message says what failed, in whose words, and what to do next."""


class BuildError(SimError):
    """A build step failed: its name and the end of its output."""


class BoardFailed(SimError):
    """The board did not start, ended early or refused a command."""


class TestFailed(SimError):
    """litepcie_util, or a client, found an error."""

    __test__ = False  # not a test class, whatever pytest makes of the name
