# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/guest/fio.py, which packs Debian's fio and its libraries for a guest and uses
nothing of this machine."""

import pytest

from sim.guest import SetupError, fio, run


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def test_a_tree_without_a_loader_is_refused(tmp_path):
    """A directory tree for fio without the dynamic loader is refused, and the message names the
    loader."""
    with pytest.raises(SetupError, match=f"has no {fio.LOADER}"):
        fio.closure(tmp_path)


@pytest.mark.guest
@pytest.mark.soak  # the first run of this test fetches 63 MB of Debian's packages
def test_it_writes_in_a_guest_that_has_nothing_else():
    """In a guest without any shared libraries of its own, fio starts, writes a file and verifies
    it."""
    files = fio.ensure()
    assert [place for _, place in files if place.endswith(("/fio", fio.LOADER))]
    command = (
        f"{fio.COMMAND} --name=o --filename=/tmp/data --rw=write --size=1M --bs=64K "
        "--verify=crc32c --output-format=terse >/out/terse; ls -l /tmp/data >/out/size"
    )
    result = run.run_guest(None, command, files, guest=run.prepare(with_driver=False), memory=1024)
    assert result.rc == 0, result.console[-2000:]
    fields = result.files["terse"].decode().split(";")
    assert fields[4] == "0" and b" 1048576 " in result.files["size"]
