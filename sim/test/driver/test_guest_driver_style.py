# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The driver's sources pass the kernel's own checkers, checkpatch --strict and sparse.

A further test searches for a rule that neither checks: the memory order in which counts are
published in the index page.
"""

import os
import re
import shutil
import subprocess

import pytest

from sim.guest import built, driver
from sim.guest import kernel as guest_kernel
from sim.test.driver.driver_guest import PROGRAMS

# {file: complaints of checkpatch that are accepted}. Only compat.h may test the kernel's version.
# Tracepoint headers look as the kernel's own do.
EXCUSED = {
    "compat.h": {"LINUX_VERSION_CODE", "CONSTANT_COMPARISON"},
    "trace.h": {"OPEN_ENDED_LINE", "PARENTHESIS_ALIGNMENT"},
}
SCRIPTS = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")
LIBRARY = driver.OURS.parent / "user" / "liblitepcie"
# All accesses to `buffers` in struct litepcie_status_way, and those with the right memory order.
BUFFERS = re.compile(r"(?:->|\.)buffers\b")
RELEASE = re.compile(r"(?:smp_store_release|litepcie_load_told)\(&[^,;]*?(?:->|\.)buffers[,)]")
ACQUIRE = re.compile(r"__atomic_load_n\(&[^,;]*(?:->|\.)buffers,\s*__ATOMIC_ACQUIRE\)")


def unordered(text, ordered):
    """The lines that access the count in the status page without memory order."""
    return [line.strip() for line in ordered.sub("", text).splitlines() if BUFFERS.search(line)]


def test_the_status_page_s_count_is_ordered():
    """The driver stores the count with release, and loads the card's count with a barrier for DMA.
    The library loads it with acquire.

    Otherwise a processor that reorders stores could show software the count before the data. x86
    does not reorder them, so no test in a guest would notice; the sources are searched instead.
    """
    stores = loads = 0
    for path in driver.OURS.glob("*.[ch]"):
        assert not unordered(path.read_text(), RELEASE), path.name
        stores += len(RELEASE.findall(path.read_text()))
    for path in LIBRARY.glob("*.[ch]"):
        assert not unordered(path.read_text(), ACQUIRE), path.name
        loads += len(ACQUIRE.findall(path.read_text()))
    assert stores and loads


@pytest.mark.parametrize(
    "text",
    [
        "WRITE_ONCE(way->status->buffers, way->hw_count);",
        "way->status->buffers = way->hw_count;",
        "page->way[LITEPCIE_C2H].buffers = 1;",
        "u64 done = READ_ONCE(way->status->buffers);",
        "u64 done = smp_load_acquire(&way->status->buffers);",
        "smp_store_release(&way->index->software, way->status->buffers);",
        "*count = __atomic_load_n(&status->way[way].buffers, __ATOMIC_RELAXED);",
    ],
)
def test_an_unordered_access_is_found(text):
    """The search finds each kind of access without memory order."""
    assert unordered(text, RELEASE) and unordered(text, ACQUIRE)


@pytest.mark.guest
@pytest.mark.soak
@pytest.mark.skipif(
    os.environ.get("SOAK") not in ("full", "kernels"),
    reason="fetches a kernel's sources: make soak SOAK=kernels",
)
def test_checkpatch_has_nothing_to_say(tmp_path):
    """checkpatch complains about exactly what EXCUSED lists."""
    unpack = ["tar", "-x", "-f", built.source("6.1"), "-C", tmp_path, "--strip-components=2"]
    subprocess.run([*unpack, "--wildcards", *(f"*/scripts/{n}" for n in SCRIPTS)], check=True)
    files = [p for name, p in driver.our_inputs().items() if name != "Kbuild"]
    files.append(PROGRAMS / "importer" / "litepcie_importer.c")
    command = [tmp_path / "checkpatch.pl", "--no-tree", "--strict", "-q", "--terse", "--show-types"]
    # the working directory is temporary, because checkpatch leaves a file in it
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
    """sparse has no complaint about address spaces, byte orders and locks, and gcc gives no
    warning."""
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
    # Kbuild compares the compiler's name with Debian's, which has the version in it. The compiler
    # is the same.
    assert not [line for line in complaints if "compiler differs" not in line], done.stderr
