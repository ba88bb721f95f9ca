# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests with a real kernel in a real QEMU and no card. They show what the stand-ins of
fake_guest.py cannot show."""

import random

import pytest

from sim.guest import run
from sim.guest.supervise import GuestPanic
from tools.testing.seeds import each_seed

pytestmark = pytest.mark.guest


@pytest.fixture(scope="module")
def guest():
    return run.prepare(with_driver=False)


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


@each_seed(1)
def test_files_go_in_and_come_back_byte_for_byte(guest, tmp_path, seed):
    """Files reach the guest and come back byte for byte over the serial lines, and programs among
    them run there."""
    data = bytes(range(256)) + random.Random(seed).randbytes(20_000)
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho from the tool\nmkdir /out/deep\ncp /given /out/deep/back\n")
    tool.chmod(0o755)
    files = [(data, "given"), (tool, "/bin/tool")]
    result = run.run_guest(None, ["tool", "exit 7", "touch /out/never"], files, guest=guest)
    assert result.rc == 7
    assert result.files["deep/back"] == data
    assert set(result.files) == {"deep/back", "dmesg"}
    assert result.facts["kernel"] == guest.kernel.release
    assert "from the tool\n" in result.console and "GUEST-DONE rc=7" in result.console


def test_the_first_command_that_fails_ends_the_run(guest):
    """The first command that fails ends the guest's run with its status, as with `set -e`."""
    result = run.run_guest(None, ["false", "touch /out/never"], guest=guest)
    assert result.rc == 1
    assert "never" not in result.files


def test_a_real_panic_is_told_from_a_time_out(guest):
    """A kernel panic ends the guest's run with the panic's reason, long before the timeout."""
    with pytest.raises(GuestPanic, match="sysrq triggered crash"):
        run.run_guest(None, "echo c >/proc/sysrq-trigger; sleep 60", guest=guest, timeout=60)
