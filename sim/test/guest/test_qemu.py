# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/guest/qemu.py, which finds a QEMU that has the device vfio-user-pci, and refuses
others with a reason."""

import pytest

from sim.guest import SetupError, qemu
from sim.test.guest.fake_guest import fake_qemu, program


@pytest.fixture(autouse=True)
def nothing_there(monkeypatch, tmp_path):
    """Imitate a machine with no QEMU in PATH, none fetched, and none named by QEMU=."""
    monkeypatch.delenv("QEMU", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/bin:/usr/bin")
    monkeypatch.setattr(qemu, "BUILD", tmp_path / "build")
    (tmp_path / "path").mkdir()
    (tmp_path / "build" / "qemu").mkdir(parents=True)
    real_which = qemu.shutil.which
    own = str(tmp_path / "path")
    monkeypatch.setattr(qemu.shutil, "which", lambda name: real_which(name, path=own))


def test_the_machine_s_own_is_taken_when_it_has_the_device(tmp_path):
    """qemu.find() returns the machine's own QEMU if that has the device vfio-user-pci, whatever its
    version."""
    own = fake_qemu(tmp_path / "path" / qemu.PROGRAM, "exit 1")
    fake_qemu(tmp_path / "build" / "qemu" / qemu.PROGRAM, "exit 1")
    assert qemu.find() == own


def test_one_that_is_too_old_is_passed_over(tmp_path):
    """qemu.find() passes over a QEMU in PATH that lacks the device vfio-user-pci. It returns the
    QEMU that was fetched, or None."""
    fake_qemu(tmp_path / "path" / qemu.PROGRAM, "exit 1", devices='name "vfio-pci", bus PCI')
    assert qemu.find() is None
    fetched = fake_qemu(tmp_path / "build" / "qemu" / qemu.PROGRAM, "exit 1")
    assert qemu.find() == fetched


def test_a_named_one_that_is_missing_is_an_error(monkeypatch):
    """If QEMU= names a program that does not exist, that is an error, and no other QEMU is used."""
    monkeypatch.setenv("QEMU", "/nowhere/qemu")
    with pytest.raises(SetupError, match=r"QEMU=/nowhere/qemu cannot be used: there is no such"):
        qemu.find()


def test_a_named_one_that_is_too_old_is_an_error(monkeypatch, tmp_path):
    """If QEMU= names a QEMU without vfio-user-pci, the error names the device and the version
    needed."""
    old = fake_qemu(tmp_path / "old", "exit 1", devices='name "vfio-pci", bus PCI')
    monkeypatch.setenv("QEMU", str(old))
    with pytest.raises(SetupError, match=r"no device vfio-user-pci.*10\.1"):
        qemu.find()


def test_a_named_one_that_does_not_run_is_an_error(monkeypatch, tmp_path):
    """If QEMU= names a program that does not run, the error has its last output."""
    broken = program(tmp_path / "broken", "echo 'libfoo.so: cannot open' >&2; exit 127")
    monkeypatch.setenv("QEMU", str(broken))
    with pytest.raises(SetupError, match=r"status 127: libfoo\.so: cannot open"):
        qemu.find()


def test_a_fetched_one_that_does_not_run_is_not_kept(monkeypatch, tmp_path):
    """A fetched QEMU that does not run loses its manifest, so that the next call fetches it
    again."""
    place = tmp_path / "build" / "qemu"

    def unpack(directory, what, sources, choose, finish):
        finish(directory)
        (directory / "manifest.json").write_text("{}")

    monkeypatch.setattr(qemu.packages, "unpack", unpack)
    monkeypatch.setattr(qemu.mirror, "debian", lambda: "http://mirror.example/debian")
    with pytest.raises(SetupError, match=r"cannot be used.*QEMU="):
        qemu.fetch()
    assert not (place / "manifest.json").exists()
