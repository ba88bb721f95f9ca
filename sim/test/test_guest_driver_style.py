# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The driver in the eyes of the kernel's own critics: checkpatch --strict, and sparse."""

import os
import re
import shutil
import subprocess

import pytest
from driver_guest import PROGRAMS

from sim.guest import built, driver
from sim.guest import kernel as guest_kernel

# By file: rules that cannot hold there. Only compat.h may ask for a version; the kernel's own
# tracepoints look as ours do.
EXCUSED = {
    "compat.h": {"LINUX_VERSION_CODE", "CONSTANT_COMPARISON"},
    "trace.h": {"OPEN_ENDED_LINE", "PARENTHESIS_ALIGNMENT"},
}
SCRIPTS = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")


@pytest.mark.guest
@pytest.mark.soak
@pytest.mark.skipif(
    os.environ.get("SOAK") not in ("full", "kernels"),
    reason="fetches a kernel's sources: make soak SOAK=kernels",
)
def test_checkpatch_has_nothing_to_say(tmp_path):
    """Of its complaints only those are left that are excused, and those are there."""
    unpack = ["tar", "-x", "-f", built.source("6.1"), "-C", tmp_path, "--strip-components=2"]
    subprocess.run([*unpack, "--wildcards", *(f"*/scripts/{n}" for n in SCRIPTS)], check=True)
    files = [p for name, p in driver.our_inputs().items() if name != "Kbuild"]
    files.append(PROGRAMS / "importer" / "litepcie_importer.c")
    command = [tmp_path / "checkpatch.pl", "--no-tree", "--strict", "-q", "--terse", "--show-types"]
    # It leaves a file where it runs.
    done = subprocess.run([*command, "-f", *files], cwd=tmp_path, capture_output=True, text=True)
    print(done.stdout, done.stderr)
    assert done.stdout.count(" lines checked") == len(files)
    found = {}
    for name, kind in re.findall(r"([\w.]+):\d+: \w+:(\w+):", done.stdout):
        found.setdefault(name, set()).add(kind)
    assert found == EXCUSED


@pytest.mark.guest
@pytest.mark.soak
@pytest.mark.skipif(not shutil.which("sparse"), reason="no sparse on this machine")
def test_sparse_has_nothing_to_say(tmp_path):
    """Address spaces, byte orders and locks, in every file that is compiled; gcc has no warning."""
    kernel = guest_kernel.ensure()
    for name, path in driver.our_inputs().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(path, tmp_path / name)
    command = ["make", "-C", kernel.headers, f"M={tmp_path}", f"CC={driver.compiler(kernel)}"]
    command += [*driver.OPTIONS, "C=2", "CHECK=sparse -D__CHECK_ENDIAN__", "modules"]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  CHECK   ") == len(list(driver.OURS.glob("*.c")))
    complaints = [line for line in done.stderr.splitlines() if "warning" in line or "error" in line]
    # Debian's compiler is named with its version; ours is the same one.
    assert not [line for line in complaints if "compiler differs" not in line], done.stderr
