# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Says which files of a folder are sources, and computes a digest of their contents."""

import hashlib
import os
from pathlib import Path

SOURCE_SUFFIXES = (".py", ".v", ".sv", ".scala", ".sbt", ".properties")
GENERATED = ("__pycache__", "target", "build", ".bsp", ".idea")
# Folders of tests. Their files do not change the gateware, so they are not sources.
TESTS = ("test",)


def source_files(folder, pattern="**/*"):
    """Return the source files in `folder` in a fixed order.

    Tests and generated files are left out.
    """
    folder = Path(folder)
    return sorted(
        path
        for path in folder.glob(pattern)
        if path.suffix in SOURCE_SUFFIXES
        and path.is_file()
        and not {*GENERATED, *TESTS} & set(path.relative_to(folder).parts)
    )


def source_digest(*groups):
    """Return the SHA-256, in hexadecimal, over the names and contents of groups of files.

    A file's name is relative to the folder that all files of its group share. So the digest does
    not depend on where that folder is.
    """
    digest = hashlib.sha256()
    for files in groups:
        root = os.path.commonpath([path.parent for path in files]) if files else ""
        digest.update(f"{len(files)}\0".encode())
        for path in files:
            name = path.relative_to(root).as_posix()
            digest.update(f"{name}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
