# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/guest/initramfs.py, which writes newc archives. The tests read them by a reader of
their own."""

import os
import random
import stat

import pytest

from sim.guest.initramfs import Initramfs
from tools.testing.seeds import each_seed


def read_newc(data):
    """Return the entries of a newc archive in order, as (path, mode, content, device numbers)."""
    at, entries = 0, []
    while True:
        assert data[at : at + 6] == b"070701", f"no header at {at}"
        field = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size, device = field[1], field[6], field[11], (field[9], field[10])
        name = data[at + 110 : at + 110 + name_size]
        assert name.endswith(b"\0") and b"\0" not in name[:-1]
        start = (at + 110 + name_size + 3) // 4 * 4
        if name == b"TRAILER!!!\0":
            assert start == len(data)
            return entries
        entries.append((name[:-1].decode(), mode, data[start : start + size], device))
        at = (start + size + 3) // 4 * 4


def test_a_folder_of_the_host_goes_in_with_its_links(tmp_path):
    """Initramfs.tree() puts a folder of the host into the archive, with permissions. Links are
    stored as links. Files that the filter rejects are left out."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").write_text("tool")
    (tmp_path / "bin" / "tool").chmod(0o755)
    (tmp_path / "bin" / "other").symlink_to("tool")
    (tmp_path / "notes").touch()
    root = Initramfs()
    root.tree(tmp_path, "usr", lambda path: path.name != "notes")
    entries = {path: rest for path, *rest in read_newc(root.tobytes())}
    assert set(entries) == {"usr", "usr/bin", "usr/bin/tool", "usr/bin/other"}
    assert entries["usr/bin/tool"][:2] == [stat.S_IFREG | 0o755, b"tool"]
    assert entries["usr/bin/other"][:2] == [stat.S_IFLNK | 0o777, b"tool"]


def test_every_kind_of_entry_comes_back():
    """Files, links, directories and devices have their type, permissions, content and numbers in
    the archive."""
    root = Initramfs()
    root.directory("tmp", 0o1777)
    root.file("init", "#!/bin/sh\n", 0o755)
    root.link("bin/sh", "busybox")
    root.device("dev/console", 5, 1)
    entries = {path: rest for path, *rest in read_newc(root.tobytes())}
    assert entries["tmp"] == [stat.S_IFDIR | 0o1777, b"", (0, 0)]
    assert entries["init"] == [stat.S_IFREG | 0o755, b"#!/bin/sh\n", (0, 0)]
    assert entries["bin/sh"] == [stat.S_IFLNK | 0o777, b"busybox", (0, 0)]
    assert entries["dev/console"] == [stat.S_IFCHR | 0o600, b"", (5, 1)]


@each_seed(4)
def test_any_name_and_length_is_aligned_right(seed):
    """In an initramfs, names and contents of every length are padded as the newc format asks."""
    rng = random.Random(seed)
    root, expected = Initramfs(), {}
    for number in range(50):
        name = f"f{number}" + "x" * rng.randrange(9)
        expected[name] = rng.randbytes(rng.randrange(40))
        root.file(name, expected[name])
    found = {path: content for path, _, content, _ in read_newc(root.tobytes())}
    assert found == expected


def test_parents_stand_before_what_is_in_them():
    """In an initramfs archive a directory comes before its contents, since the kernel unpacks in
    order and makes no directory by itself."""
    root = Initramfs()
    root.file("/a/b/c/file", b"1")
    assert [path for path, *_ in read_newc(root.tobytes())] == ["a", "a/b", "a/b/c", "a/b/c/file"]


def test_a_host_file_keeps_its_permissions(tmp_path):
    """A file of the host keeps its permissions in the initramfs, so that a program can be run in
    the guest."""
    path = tmp_path / "tool"
    path.write_bytes(b"\x7fELF")
    path.chmod(0o750)
    root = Initramfs()
    root.file("bin/tool", path)
    assert read_newc(root.tobytes())[-1][1:3] == (stat.S_IFREG | 0o750, b"\x7fELF")


def test_the_same_content_gives_the_same_bytes(tmp_path):
    """The same content gives the same initramfs archive, byte for byte, because neither the clock
    nor the times of files are in it."""
    path = tmp_path / "data"
    path.write_bytes(b"data")
    archives = []
    for age in (1, 1_000_000):
        os.utime(path, (age, age))
        root = Initramfs()
        root.file("data", path)
        archives.append(root.tobytes())
    assert archives[0] == archives[1]


@pytest.mark.parametrize("path", ["", "/", "../etc/passwd", "a/../../b"])
def test_a_path_outside_is_refused(path):
    """Initramfs refuses a path outside the archive's root with a message that names the path."""
    with pytest.raises(ValueError, match="guest path"):
        Initramfs().file(path, b"")
