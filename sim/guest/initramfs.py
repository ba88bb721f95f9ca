# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the guest's root file system as a newc archive, without root and without cpio.

Promises: missing parent directories are added. All files belong to the guest's user root. The same
content gives the same bytes. The archive is not compressed: QEMU hands it over in memory, and
unpacking would cost the guest time."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

Entry = tuple  # An entry of the archive for the guest's root: (mode, data, (major, minor)).


class Initramfs:
    """The entries of a newc archive by guest path.

    Adding a path again replaces its entry."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}

    def directory(self, path: str, mode: int = 0o755) -> None:
        """Add a directory to the archive of the guest's root."""
        self._add(path, stat.S_IFDIR | mode)

    def file(self, path: str, data: bytes | str | Path, mode: int | None = None) -> None:
        """Add a file to the archive. Its content is bytes, text, or that of a host file.

        A host file keeps its permissions unless `mode` is given."""
        if isinstance(data, Path):
            mode = data.stat().st_mode & 0o777 if mode is None else mode
            data = data.read_bytes()
        elif isinstance(data, str):
            data = data.encode()
        self._add(path, stat.S_IFREG | (0o644 if mode is None else mode), data)

    def link(self, path: str, target: str) -> None:
        """Add a symbolic link at `path` to the archive of the guest's root.

        The link leads to `target`."""
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def device(self, path: str, major: int, minor: int, mode: int = 0o600) -> None:
        """Add a character device with these major and minor numbers to the archive of the guest's
        root."""
        self._add(path, stat.S_IFCHR | mode, b"", (major, minor))

    def tree(self, folder: Path, place: str = "", wanted=lambda path: True) -> None:
        """Add to the archive all files and links below a folder of the host whose paths `wanted`
        accepts."""
        for path in sorted(folder.iterdir()):
            name = f"{place}/{path.name}".lstrip("/")
            if not wanted(path):
                continue
            if path.is_symlink():
                self.link(name, os.readlink(path))
            elif path.is_dir():
                self.tree(path, name, wanted)
            else:
                self.file(name, path)

    def _add(self, path: str, mode: int, data: bytes = b"", number: tuple = (0, 0)) -> None:
        pure = PurePosixPath("/") / path
        if ".." in pure.parts or not pure.name:
            raise ValueError(f"guest path {path!r}: it must name something below /, without `..`")
        # The kernel unpacks in order, so a directory must come before its contents.
        for parent in list(pure.parents)[-2::-1]:
            self.entries.setdefault(str(parent)[1:], (stat.S_IFDIR | 0o755, b"", (0, 0)))
        self.entries[str(pure)[1:]] = (mode, data, number)

    def tobytes(self) -> bytes:
        """Return the whole archive of the guest's root as bytes."""
        entries = enumerate(self.entries.items(), 1)
        parts = [_entry(inode, path, *entry) for inode, (path, entry) in entries]
        return b"".join([*parts, _entry(0, "TRAILER!!!", 0, b"", (0, 0))])

    def write(self, path: Path) -> None:
        """Write the archive of the guest's root to a file."""
        path.write_bytes(self.tobytes())


def _entry(inode: int, path: str, mode: int, data: bytes, number: tuple) -> bytes:
    name = path.encode() + b"\0"
    # The fields of a header of a newc archive: inode, mode, uid, gid, links, mtime, size, device,
    # special device, length of the name, checksum.
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, *number, len(name), 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields)
    return _padded(header + name) + _padded(data)


def _padded(data: bytes) -> bytes:
    # Every header and every content of a newc archive starts on a multiple of four bytes.
    return data + bytes(-len(data) % 4)
