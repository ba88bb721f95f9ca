# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Copies a folder of the user's into the guest, and copies back what the guest changed in it.

Debian's cloud kernel has no 9P, and virtiofs needs a daemon on the host. So when the guest ends, it
writes the folder as a tar archive to a disk of its own (init.sh), and the host compares the archive
with the folder.

Promises: a file that did not change in the guest is not touched. A file that changed only in the
guest is replaced as a whole. A file that changed on both sides stays as it is, and the guest's file
is written beside it. A file that was deleted in the guest stays, and the user is told its name.
Nothing is written outside of the folder, whatever the archive says: neither an absolute path, nor
`..`, nor a symbolic link leads out of it. Limits: contents, links and permissions are compared, but
not owners and times. `.git` and `__pycache__` are not copied."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from sim.guest import SetupError
from sim.guest.initramfs import Initramfs

LEFT_OUT = (".git", "__pycache__")
# The most MiB that a user's folder may have, since the guest holds its files and their archive in
# memory.
MOST = 128
# If the user has changed a file that the guest has changed, too, the guest's file gets this suffix.
BESIDE = ".guest"
NAMED = 6  # The most files that one sentence to the user names.
# The serial number by which the guest's init.sh finds the disk that takes the folder back.
SERIAL = "folder"
# A file in the guest that holds the path at which the guest has the user's folder.
MARK = "lib/folder"

# The facts of a file that are compared: its kind, and those that two equal files of the kind share.
State = tuple


class Folder:
    """A folder of the user's that goes into the guest.

    Call put() before the guest starts, and take_back() when it has ended."""

    def __init__(self, path: Path | str, place: str = ""):
        self.path = Path(path).expanduser().resolve()
        if not self.path.is_dir():
            raise SetupError(f"{self.path}: there is no such folder to take into the guest.")
        self.place = place or f"root/{self.path.name}"
        self.before: dict[str, State] = {}

    def put(self, root: Initramfs) -> None:
        """Add the folder to the guest's root, and remember the folder's state.

        Raises SetupError if the folder has more than MOST MiB."""
        root.directory(self.place)
        root.file(MARK, f"/{self.place}\n")
        size, self.before = 0, {}
        for name, path in _walk(self.path):
            place = f"{self.place}/{name}"
            try:
                if path.is_symlink():
                    root.link(place, os.readlink(path))
                    self.before[name] = ("link", os.readlink(path))
                elif path.is_dir():
                    root.directory(place)
                    self.before[name] = ("directory",)
                # Sockets and pipes are not put into the guest, since they are of no use on another
                # machine.
                elif path.is_file():
                    size += path.stat().st_size
                    self._refuse_much(size)
                    data, mode = path.read_bytes(), path.stat().st_mode & 0o777
                    root.file(place, data, mode)
                    self.before[name] = _file(mode, data)
            except OSError as error:
                raise SetupError(f"{path} cannot go into the guest: {error.strerror}.") from None

    def _refuse_much(self, size: int) -> None:
        if size > MOST << 20:
            raise SetupError(
                f"{self.path} has more than {MOST} MiB, and the guest would hold them in its "
                "memory. Keep large files in another folder."
            )

    def disk(self, path: Path, memory: int) -> tuple[str, ...]:
        """Return QEMU's arguments for the disk that brings the folder back: a sparse file, `path`.

        `memory` is the guest's memory in MiB. The folder cannot be larger, as the guest keeps it in
        memory."""
        with open(path, "wb") as file:
            file.truncate((memory + 64) << 20)
        drive = f"file={str(path).replace(',', ',,')},if=none,id=folder,format=raw"
        return ("-drive", drive, "-device", f"nvme,drive=folder,serial={SERIAL}")

    def take_back(self, archive: Path, whole: bool, keep: Path) -> list[str]:
        """Copy back what changed in the guest.

        Returns sentences for the user, or none if nothing changed. `whole`: the guest says that the
        whole folder is in `archive`. `keep` is the path to which the archive is copied if a file
        could not be written."""
        if not whole:
            return ["the guest was ended before it handed the folder over: nothing came back"]
        journey = _Journey(self.path, self.before)
        with tarfile.open(archive) as tar:
            for member in tar:
                journey.take(tar, member)
        if journey.failed:
            shutil.copyfile(archive, keep)
            journey.failed.append(f"all that the guest had is in {keep}")
        return journey.sentences()


class _Journey:
    """Copies the members of one archive from the guest back to the user's folder, and collects the
    sentences for the user."""

    def __init__(self, path: Path, before: dict[str, State]):
        self.path, self.before = path, before
        self.seen: set[str] = set()
        self.back: list[str] = []
        self.beside: list[str] = []
        self.refused: list[str] = []
        self.failed: list[str] = []

    def take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Copy one member of the archive back if that member has changed in the guest."""
        pure = PurePosixPath(member.name)
        name = str(pure)
        if name == "." or set(pure.parts) & set(LEFT_OUT):
            return
        if pure.is_absolute() or ".." in pure.parts:
            self.refused.append(f"{name} is not below the folder")
            return
        self.seen.add(name)
        try:
            new, data = _state_of(tar, member)
            if new == self.before.get(name) or new == state(self.path / name):
                return
            if reason := self._forbidden(pure, new):
                self.refused.append(f"{name} {reason}")
                return
            self._write(name, new, data)
        except OSError as error:
            self.failed.append(f"{name} could not be written here: {error.strerror}")

    def _forbidden(self, pure: PurePosixPath, new: State) -> str | None:
        """Return why this member must not be written to the folder, or None if it may be."""
        if new[0] not in ("file", "link", "directory"):
            return "is neither a file nor a folder"
        for parent in list(pure.parents)[-2::-1]:
            if (self.path / parent).is_symlink():
                return f"lies behind the symbolic link {parent}"
        # A link without `..` only leads further down, so no combination of such links leads out of
        # the folder.
        if new[0] == "link" and (new[1].startswith("/") or ".." in PurePosixPath(new[1]).parts):
            return f"is a symbolic link to {new[1]}, which may lead out of the folder"
        return None

    def _write(self, name: str, new: State, data: bytes) -> None:
        target = self.path / name
        if state(target) != self.before.get(name):
            if new[0] == "directory":
                self.refused.append(f"{name} is a folder in the guest, and something else here")
                return
            target = _free(target)
            self.beside.append(str(target.relative_to(self.path)))
        else:
            self.back.append(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        if new[0] == "directory":
            target.mkdir(exist_ok=True)
            return
        # The file is written beside the target and renamed. So no program sees half a file, and a
        # symbolic link is replaced instead of followed.
        with tempfile.TemporaryDirectory(prefix=".back-", dir=target.parent) as work:
            made = Path(work) / "made"
            if new[0] == "link":
                made.symlink_to(new[1])
            else:
                made.write_bytes(data)
                made.chmod(new[1])
            os.replace(made, target)

    def sentences(self) -> list[str]:
        """Return a sentence for the user about each kind of change, and about each member that was
        not copied."""
        deleted = [name for name in self.before if name not in self.seen]
        said = []
        if self.back:
            said.append(f"came back changed: {_some(self.back)}")
        if self.beside:
            said.append(
                f"changed in the guest and here, so the guest's is beside it: {_some(self.beside)}"
            )
        if deleted:
            said.append(f"deleted in the guest, kept here: {_some(deleted)}")
        return said + [f"not taken: {each}" for each in self.refused] + self.failed


def _walk(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield (relative name, path) of all files below `path`, parents first.

    Symbolic links are not followed."""
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        for name in [*folders, *sorted(files)]:
            found = Path(folder) / name
            yield str(found.relative_to(path)), found


def state(path: Path) -> State:
    """Return the present state of the file `path`, or None if it does not exist."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(found.st_mode):
        return ("link", os.readlink(path))
    if stat.S_ISDIR(found.st_mode):
        return ("directory",)
    if stat.S_ISREG(found.st_mode):
        return _file(found.st_mode, path.read_bytes())
    return ("other", stat.S_IFMT(found.st_mode))


def _file(mode: int, data: bytes) -> State:
    return ("file", mode & 0o777, hashlib.sha256(data).digest())


def _state_of(tar: tarfile.TarFile, member: tarfile.TarInfo) -> tuple[State, bytes]:
    """Return state and contents of one member of the archive.

    A hard link counts as the file that it is linked to."""
    if member.issym():
        return ("link", member.linkname), b""
    if member.isdir():
        return ("directory",), b""
    if member.isreg() or member.islnk():
        # A hard link in the archive may lead to a file that is not in it. Such a member counts as a
        # file of no known kind.
        with contextlib.suppress(KeyError):
            data = tar.extractfile(member).read()
            return _file(member.mode, data), data
    return ("other", member.type), b""


def _free(path: Path) -> Path:
    """Return a path beside `path` that no file has, with a name ending in BESIDE or BESIDE and a
    number."""
    number, found = 1, path.with_name(path.name + BESIDE)
    while os.path.lexists(found):
        number += 1
        found = path.with_name(f"{path.name}{BESIDE}{number}")
    return found


def _some(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(sorted(names)[:NAMED]) + more
