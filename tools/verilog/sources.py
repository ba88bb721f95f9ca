# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The identifier text of the gateware. It depends on the sources alone.

The same sources give the same text on every machine and at any time: it has no date, path or user.
"""

import hashlib
import os
from pathlib import Path

SOURCE_SUFFIXES = (".py", ".v", ".sv", ".scala", ".sbt", ".properties")
GENERATED       = ("__pycache__", "target", "build", ".bsp", ".idea")
TESTS           = ("test",) # Tests do not change the gateware.
DIGEST_SHOWN    = 12

def source_files(folder, pattern="**/*"):
    """The source files in `folder` in a fixed order, without tests and without generated files."""
    folder = Path(folder)
    return sorted(
        path for path in folder.glob(pattern)
        if path.suffix in SOURCE_SUFFIXES and path.is_file()
        and not {*GENERATED, *TESTS} & set(path.relative_to(folder).parts)
    )

def source_digest(*groups):
    """SHA-256 over the names and contents of groups of files, as hexadecimal text.

    A name is relative to the folder that all files of a group share, so it does not matter where
    that folder is.
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

def gateware_digest(occupant_sources):
    """SHA-256 over this gateware with this user logic, as hexadecimal text."""
    return source_digest(source_files(Path(__file__).parent), occupant_sources)

def identifier(target, occupant_sources):
    """The text of the identifier memory for the target called `target` with this user logic."""
    return f"Lanebox {target} {gateware_digest(occupant_sources)[:DIGEST_SHOWN]}"
