# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of class_files.py: it finds the compiled classes (JVM) that a class uses, and sees changes
of them.
"""

import pytest

from tools.testing import class_files


@pytest.fixture
def folders(tmp_path):
    """Make two folders of class files: a suite uses a bench, the bench a component; a fourth is
    apart.
    """
    texts = {
        "test/lanebox/SomeTest": b"\xca\xfe\x01\0\x12lanebox/SomeBench$\x07\0scala/Option",
        "test/lanebox/SomeBench$": b"(Llanebox/mmio/Bridge;I)V\x01\0lanebox/Gone",
        "main/lanebox/mmio/Bridge": b"lanebox/SomeTest",
        "main/lanebox/mmio/Apart": b"lanebox/mmio/Bridge",
    }
    for name, content in texts.items():
        file = tmp_path / f"{name}.class"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    class_files._read.cache_clear()
    return [tmp_path / "test", tmp_path / "main"]


def digest(folders):
    class_files._read.cache_clear()
    return class_files.digest("lanebox.SomeTest", folders)


def test_classes_are_found_through_others(folders):
    """closure() finds a class that is used through another one.

    A class that uses the suite is not in the suite's closure.
    """
    found = class_files.closure("lanebox.SomeTest", folders)
    assert set(found) == {"lanebox/SomeTest", "lanebox/SomeBench$", "lanebox/mmio/Bridge"}


def test_a_class_that_is_used_changes_the_digest(folders):
    """digest() changes if a class that is used changes. It does not change with an unused class."""
    before = digest(folders)
    (folders[1] / "lanebox/mmio/Apart.class").write_bytes(b"other")
    assert digest(folders) == before
    (folders[1] / "lanebox/mmio/Bridge.class").write_bytes(b"lanebox/SomeTest other")
    assert digest(folders) != before


def test_a_class_that_appears_changes_the_digest(folders):
    """digest() changes if a class file appears whose name a class already used."""
    before = digest(folders)
    (folders[0] / "lanebox/Gone.class").write_bytes(b"")
    assert digest(folders) != before


def test_an_unknown_class_is_an_error(folders):
    """If a class does not exist, digest() raises an error that names it and the folders that were
    searched.
    """
    with pytest.raises(KeyError, match=r"no class lanebox\.Nothing in .*test, .*main"):
        class_files.digest("lanebox.Nothing", folders)
