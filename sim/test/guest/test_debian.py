# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/guest/debian.py, which makes a tree of Debian's programs that uses nothing of this
machine.

test_guest_example.py runs such a tree in a guest; test_fio.py runs fio alone.
"""

import pytest

from sim.guest import SetupError, debian
from sim.guest.initramfs import Initramfs


def says(tree, text):
    (tree / f"{debian.LOADER_PLACE}.says").write_text(text)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Make an unpacked tree of Debian with a script in the loader's place. The script prints the
    text that says() has stored, and fails if the file `<loader>.fails` exists."""
    (tmp_path / "tree" / "lib64").mkdir(parents=True)
    loader = tmp_path / "tree" / debian.LOADER_PLACE
    loader.write_text('#!/bin/sh\ncat "$0".says; [ ! -e "$0".fails ]\n')
    loader.chmod(0o755)
    says(tmp_path / "tree", "")
    monkeypatch.setattr(debian, "ensure", lambda: tmp_path / "tree")
    return tmp_path / "tree"


@pytest.fixture
def package(tmp_path):
    """Make a Python package and the shared library that belongs to it; returns (folder, library
    file)."""
    folder = tmp_path / "lanebox_host"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "__pycache__" / "x.pyc").touch()
    (folder / "__init__.py").write_text("# package\n")
    library = tmp_path / "liblitepcie.so"
    library.write_bytes(b"ELF")
    return folder, library


def test_libraries_have_the_names_that_are_asked_for(tree, tmp_path):
    """debian.libraries() names a library as programs ask for it, and not by its file's longer name.
    The loader and the kernel's vdso do not count as libraries."""
    says(
        tree,
        "\tlinux-vdso.so.1 (0x0)\n\tlibz.so.1 => /x/libz.so.1.2.13 (0x1)\n"
        f"\t{debian.LOADER} => /x/{debian.LOADER} (0x2)\n",
    )
    found = debian.libraries(tree, [tmp_path / "program"])
    assert {name: str(path) for name, path in found.items()} == {"libz.so.1": "/x/libz.so.1.2.13"}


@pytest.mark.parametrize("text, fails", [("\tlibz.so.1 => not found\n", False), ("broken\n", True)])
def test_a_program_without_all_its_libraries_is_refused(tree, tmp_path, text, fails):
    """A program that lacks a library is refused on the host, with the loader's message, and not
    only in the guest."""
    says(tree, text)
    if fails:
        (tree / f"{debian.LOADER_PLACE}.fails").touch()
    with pytest.raises(SetupError, match=f"program's libraries are not whole:\n\\s*{text.strip()}"):
        debian.libraries(tree, [tmp_path / "program"])


def test_the_card_s_package_lies_where_debian_s_python_looks(tree, package):
    """The card's Python package and its library are put where Debian's Python looks for modules.
    Bytecode of this machine's Python is left out."""
    root = Initramfs()
    debian.put(root, *package)
    names = {name for name in root.entries if name.startswith(debian.MODULES + "/")}
    place = f"{debian.MODULES}/lanebox_host"
    assert names == {place, f"{place}/__init__.py", f"{place}/liblitepcie.so.2"}
    assert debian.LOADER_PLACE in root.entries


def test_a_library_that_is_too_new_for_the_guest_has_a_way_out(tree, package):
    """A library that was built for a newer C library than the guest's is refused. The message names
    a newer Debian release."""
    says(tree, "liblitepcie.so: version `GLIBC_2.38' not found (required by liblitepcie.so)\n")
    with pytest.raises(SetupError, match=r"GLIBC_2\.38.*\n.*DEBIAN_SUITE=trixie"):
        debian.put(Initramfs(), *package)
