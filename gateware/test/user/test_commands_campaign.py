# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The long campaign of random commands of user logic (HostCommandsTest.scala)."""

import pytest

from gateware.test import spinal_suites

pytestmark = [pytest.mark.spinal, pytest.mark.soak]

SUITE = "lanebox.user.HostCommandsTest"
COMMANDS = 1_000_000
SECONDS = 3600


def test_a_million_commands_do_what_they_say(monkeypatch):
    """In 10^6 random commands each ends once with the right error, and the data and the memory are
    those of a model."""
    monkeypatch.setenv("LANEBOX_COMMANDS", str(COMMANDS))
    monkeypatch.setattr(spinal_suites, "PROCESSOR_SECONDS", SECONDS)
    with spinal_suites.Runner([], fresh=True) as runner:
        result = runner._run(SUITE)
    print(result.text[-2000:])
    assert result.passed, result.text
    assert f"{COMMANDS} commands do what they say" in result.text
