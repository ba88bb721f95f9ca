# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of tools/needs.py: each probe finds whether this machine meets a need."""

import pytest

from tools import needs, prepare
from tools.prepare import group_locks

# The programs that each package brings, by itself or by a package that it depends on. A need for a
# program is checked with this table, so a new package needs a row.
BRINGS = {
    "make": {"make"},
    "gcc": {"gcc", "strip"},
    "g++": {"g++", "gcc", "strip"},
    "binutils": {"strip"},
    "ccache": {"ccache"},
    "flex": {"flex"},
    "bison": {"bison"},
    "bc": {"bc"},
    "xz-utils": {"xz"},
    "maven": {"mvn"},
    "tcpdump": {"tcpdump"},
    "tshark": {"tshark"},
    "pciutils": {"lspci"},
    "groff-base": {"groff"},
    "jq": {"jq"},
    "valgrind": {"valgrind"},
    "strace": {"strace"},
    "sparse": {"sparse"},
    "chromium-headless-shell": {"chromium-headless-shell"},
    "tcl": {"tclsh"},
    "openocd": {"openocd"},
    "debootstrap": {"debootstrap"},
    "gcc-riscv64-unknown-elf": {"riscv64-unknown-elf-gcc"},
}
# Packages whose probes look for a file, a library or a version, and not for a program in PATH.
NOT_A_PROGRAM = {
    "libc6-dev",
    "verilator",
    "zlib1g-dev",
    "liblz4-dev",
    "python3-venv",
    "libelf1t64",
    "libelf1",
    "debian-archive-keyring",
    "libelf-dev",
    "default-jdk-headless",
    "flashrom",
    "libpcap0.8t64",
    "libpcap0.8",
    "picolibc-riscv64-unknown-elf",
    f"lib{needs.PYTHON}",
}
ALL = [need for entries in needs.NEEDS.values() for need in entries]
FROM_APT = [need for need in ALL if need.one_of]
ASK_FOR_PROGRAMS = [need for need in FROM_APT if not NOT_A_PROGRAM.issuperset(need.one_of)]


def program(folder, name, text="exit 0"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def empty_path(monkeypatch, tmp_path):
    """Set PATH to a single folder, which is empty, and return that folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_program_is_looked_for_in_path(empty_path):
    """program() finds a program in PATH by its name, if the file is executable."""
    probe = needs.program("one")
    (empty_path / "one").touch()
    assert not probe()
    program(empty_path, "one")
    assert probe()


def test_a_program_for_administrators_need_not_be_in_path(monkeypatch, empty_path, tmp_path):
    """system_program() finds a program such as flashrom in /usr/sbin, too, which users often do not
    have in PATH.
    """
    monkeypatch.setattr(needs, "SYSTEM_FOLDERS", (str(tmp_path / "sbin"),))
    probe = needs.system_program("one")
    assert not probe()
    program(tmp_path / "sbin", "one")
    assert probe()
    (tmp_path / "sbin" / "one").unlink()
    program(empty_path, "one")
    assert probe()


def test_a_header_is_looked_for_by_the_compiler():
    """header() finds a header of the C library, also in a subfolder. It does not find a missing
    header.
    """
    assert needs.header("stdio.h")()
    # This header is not in /usr/include: only the compiler finds it.
    assert needs.header("bits/c++config.h")()
    assert not needs.header("no_such_header_of_lanebox.h")()


def test_without_a_compiler_no_header_is_found(empty_path):
    """Without a compiler no header is found, since header() asks the compiler."""
    assert not needs.header("stdio.h")()


def test_a_library_is_looked_for_by_the_loader():
    """library() finds a shared library in any folder that the loader searches."""
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
    """verilator() refuses a Verilator 4.038, as in Ubuntu 22.04, as too old.

    It also refuses a Verilator that prints no version.
    """
    program(empty_path, "verilator", f"echo '{text}'")
    assert needs.verilator() is found


def test_no_verilator_is_no_verilator(empty_path):
    """verilator() returns False for a missing Verilator, and raises no exception."""
    assert not needs.verilator()


@pytest.mark.parametrize(
    ("include", "own_copy", "needed"),
    [('"lz4.h"', True, False), ("<lz4.h>", False, True), ("<zlib.h>", False, False)],
)
def test_lz4_is_wanted_only_by_a_verilator_without_its_own(
    monkeypatch, empty_path, tmp_path, include, own_copy, needed
):
    """liblz4-dev is needed only by a Verilator without its own lz4.h; up to 5.032 it has one."""
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
    """java_compiler() reads the version of a JDK from its file `release`, and accepts 17 or
    newer.
    """
    program(empty_path, "javac")
    (empty_path.parent / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
    assert needs.java_compiler() is found


def test_every_group_is_met_or_says_what_brings_it():
    """Each need but apt's own programs names packages that bring it. Each group has needs or a lock
    file.
    """
    for group, entries in needs.NEEDS.items():
        assert entries or group_locks([group]), group
        for need in entries:
            assert need.one_of or need.what in {"apt-get", "dpkg-deb"}, need.what


def test_every_package_has_a_row():
    """The tables BRINGS and NOT_A_PROGRAM have exactly the packages of all needs."""
    packages = {name for need in FROM_APT for name in need.one_of}
    assert packages == BRINGS.keys() | NOT_A_PROGRAM


@pytest.mark.parametrize("need", ASK_FOR_PROGRAMS, ids=lambda need: need.what)
def test_the_selected_packages_bring_what_is_asked_for(monkeypatch, empty_path, need):
    """On an empty machine whose apt knows every package, the selected packages meet the need.

    A need for two programs from two packages once got the first package only, and every set-up of a
    fresh Debian ended with "still missing".
    """
    monkeypatch.setattr(prepare, "known_to_apt", set)
    packages, unmet = prepare.select([need])
    assert not unmet and not need.probe()
    for name in set().union(*(BRINGS[package] for package in packages)):
        program(empty_path, name)
    assert need.probe(), f"{packages} do not bring {need.what}"
