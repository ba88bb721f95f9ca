# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Packs the Python that runs these tests for a guest, with the modules that a given program needs.

Nothing is fetched. The modules are those that the program loads when it runs on this machine. The
shared libraries are those that this machine's loader finds for them. A module that the program
would load only in the guest is missing there, and its import fails.
"""

from __future__ import annotations

import importlib.util
import json
import marshal
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

# folder in the guest that holds a copy of the Python that runs this test
PLACE = PurePosixPath("python")
MODULES = PLACE / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
LOADER = "ld-linux-x86-64.so.2"
COMMAND = (
    f"PYTHONHOME=/{PLACE} PYTHONPATH=/{MODULES} /{PLACE}/{LOADER} --library-path /{PLACE} "
    f"/{PLACE}/python -S -B"
)
LIST = """
import json, sys
files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
print(json.dumps({name: file for name, file in files.items() if file}), file=sys.__stdout__)
"""


def modules(program: str, environment: dict[str, str]) -> dict[str, Path]:
    """Run a Python program on this machine; returns {module name: file} of all modules that are
    loaded at its end."""
    done = subprocess.run(
        [sys.executable, "-c", program + LIST],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return {name: Path(file) for name, file in json.loads(done.stdout).items()}


def compiled(source: Path) -> bytes:
    """Return the content of a .pyc file for a Python source file. The guest gets bytecode, since it
    would take long to compile the source itself."""
    cached = Path(importlib.util.cache_from_source(str(source)))
    if cached.exists() and cached.stat().st_mtime >= source.stat().st_mtime:
        return cached.read_bytes()
    code = compile(source.read_bytes(), str(source), "exec", dont_inherit=True)
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def libraries(files: list[Path]) -> dict[str, Path]:
    """Return the shared libraries that these binaries need, as {name: file}. The name is what a
    binary asks for; the file is what this machine's loader finds."""
    found = {}
    for file in files:
        asked = subprocess.run(["ldd", file], capture_output=True, text=True).stdout
        found.update(re.findall(r"^\s*(\S+) => (/\S+) \(", asked, re.MULTILINE))
        found.update((LOADER, path) for path in re.findall(r"^\s*(/\S+) \(", asked, re.MULTILINE))
    return {name: Path(path) for name, path in found.items()}


def files(program: str, environment: dict[str, str]) -> list[tuple[Path | bytes, str]]:
    """Return the files for run_guest() with which COMMAND can run this Python program, or a part of
    it, in the guest."""
    interpreter = Path(sys.executable).resolve()
    pairs, binaries = [(interpreter, f"{PLACE}/python")], [interpreter]
    for name, file in modules(program, environment).items():
        place = MODULES / name.replace(".", "/")
        if file.suffix == ".py":
            place = place / "__init__" if file.stem == "__init__" else place
            pairs.append((compiled(file), f"{place}.pyc"))
        else:
            pairs.append((file, f"{place}.so"))
            binaries.append(file)
    found = libraries(binaries)
    return pairs + [(path, f"{PLACE}/{name}") for name, path in found.items()]
