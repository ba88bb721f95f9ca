# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""tools/needs.py: the questions to the machine get the right answers."""

import pytest

from tools import needs
from tools.prepare import group_locks


def program(folder, name, text="exit 0"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def empty_path(monkeypatch, tmp_path):
    """A PATH with nothing in it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_all_programs_must_be_there(empty_path):
    """One of two is not enough."""
    probe = needs.programs("one", "two")
    program(empty_path, "one")
    assert not probe()
    program(empty_path, "two")
    assert probe()


def test_a_header_is_looked_for_by_the_compiler():
    """One of the C library's is there, one of nobody's is not; a sub-folder's name counts."""
    assert needs.header("stdio.h")()
    assert needs.header("bits/c++config.h")()  # not in /usr/include itself: the compiler is asked
    assert not needs.header("no_such_header_of_lanebox.h")()


def test_without_a_compiler_no_header_is_found(empty_path):
    """The compiler is installed first, and its answer counts."""
    assert not needs.header("stdio.h")()


def test_a_library_is_looked_for_by_the_loader():
    """The file need not be where Debian has it."""
    assert needs.library("libc.so.6")()
    assert not needs.library("libno_such_library.so.1")()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)", True),
        ("Verilator 5.048 2026-05-01", True),
        ("Verilator 4.038 2020-07-11 rev v4.036", False),
        (" rev vUNKNOWN-built20260516", False),
    ],
)
def test_verilator_must_be_new_enough(empty_path, text, found):
    """4.038 of Ubuntu 22.04 is too old; one that does not say what it is, is not taken."""
    program(empty_path, "verilator", f"echo '{text}'")
    assert needs.verilator() is found


def test_no_verilator_is_no_verilator(empty_path):
    """And not an error."""
    assert not needs.verilator()


@pytest.mark.parametrize(
    ("include", "own_copy", "needed"),
    [('"lz4.h"', True, False), ("<lz4.h>", False, True), ("<zlib.h>", False, False)],
)
def test_lz4_is_wanted_only_by_a_verilator_without_its_own(
    monkeypatch, empty_path, tmp_path, include, own_copy, needed
):
    """Up to 5.032 Verilator brings its own lz4.h."""
    program(empty_path, "verilator")
    sources = tmp_path / "share" / "verilator" / "include" / "gtkwave"
    sources.mkdir(parents=True)
    (sources / "fstapi.c").write_text(f"#include {include}\n")
    if own_copy:
        (sources / "lz4.h").touch()
    monkeypatch.setattr(needs, "header", lambda name: lambda: False)
    assert needs.waveform_compression() is not needed


@pytest.mark.parametrize(("version", "found"), [("17.0.15", True), ("21", True), ("11.0.2", False)])
def test_java_must_be_new_enough(empty_path, version, found):
    """The JDK's own release file says it."""
    program(empty_path, "javac")
    (empty_path.parent / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
    assert needs.java_compiler() is found


def test_every_group_is_met_or_says_what_brings_it():
    """Each need has packages, but for those of apt itself; a group has needs or a lock file."""
    for group, entries in needs.NEEDS.items():
        assert entries or group_locks([group]), group
        for need in entries:
            assert need.packages or need.what == "apt and dpkg", need.what
