# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The driver's sources pass the kernel's own checkers, checkpatch --strict and sparse.

A further test searches the sources for a rule that neither checker knows: the memory order with
which the driver's counts are published in the status page.
"""

import os
import re
import shutil
import subprocess

import pytest

from sim.guest import built, driver
from sim.guest import kernel as guest_kernel
from sim.test.driver.driver_guest import PROGRAMS

# {file of the driver: complaints of checkpatch that are accepted}. Only compat.h and
# compat_virtio.h may test the kernel's version. The header of tracepoints looks as such headers of
# the kernel do. A header of the ABI cannot use BIT(), which programs do not have.
EXCUSED = {
    "compat.h": {"LINUX_VERSION_CODE", "CONSTANT_COMPARISON"},
    "compat_virtio.h": {"LINUX_VERSION_CODE", "CONSTANT_COMPARISON"},
    "litepcie.h": {"BIT_MACRO"},
    "litepcie_capability.h": {"BIT_MACRO"},
    "trace.h": {"OPEN_ENDED_LINE", "PARENTHESIS_ALIGNMENT"},
}
SCRIPTS = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")
LIBRARY = driver.OURS.parent / "liblitepcie"
# Regular expressions for accesses to `buffers`, a count in struct litepcie_status_way: all
# accesses, those of the driver with the right memory order, and those of the library.
BUFFERS = re.compile(r"(?:->|\.)buffers\b")
RELEASE = re.compile(r"(?:smp_store_release|litepcie_load_reported)\(&[^,;]*?(?:->|\.)buffers[,)]")
ACQUIRE = re.compile(r"__atomic_load_n\(&[^,;]*(?:->|\.)buffers,\s*__ATOMIC_ACQUIRE\)")


def unordered(text, ordered):
    """Return the lines of `text` that access `buffers` other than by the pattern `ordered`, so
    without memory order."""
    return [line.strip() for line in ordered.sub("", text).splitlines() if BUFFERS.search(line)]


def test_the_status_page_s_count_is_ordered():
    """The driver stores the count of the status page with release, and loads the card's count with
    a barrier for DMA. The library loads the page's count with acquire.

    Otherwise a processor that reorders stores could show software the count before the data. x86
    does not reorder stores, so no test in a guest would notice. This test searches the sources
    instead.
    """
    stores = loads = 0
    for path in driver.our_inputs().values():
        assert not unordered(path.read_text(), RELEASE), path.name
        stores += len(RELEASE.findall(path.read_text()))
    for path in sorted(LIBRARY.glob("*.[ch]")) + sorted(LIBRARY.glob("kernel/*.[ch]")):
        assert not unordered(path.read_text(), ACQUIRE), path.name
        loads += len(ACQUIRE.findall(path.read_text()))
    assert stores and loads


@pytest.mark.parametrize(
    "text",
    [
        "WRITE_ONCE(way->status->buffers, way->hw_count);",
        "way->status->buffers = way->hw_count;",
        "page->way[LITEPCIE_WAY_C2H].buffers = 1;",
        "u64 done = READ_ONCE(way->status->buffers);",
        "u64 done = smp_load_acquire(&way->status->buffers);",
        "smp_store_release(&way->index->software, way->status->buffers);",
        "*count = __atomic_load_n(&status->way[way].buffers, __ATOMIC_RELAXED);",
    ],
)
def test_an_unordered_access_is_found(text):
    """unordered() finds each kind of access without memory order to the count that the driver
    shares with user space."""
    assert unordered(text, RELEASE) and unordered(text, ACQUIRE)


@pytest.mark.guest
@pytest.mark.soak
@pytest.mark.skipif(
    os.environ.get("SOAK") not in ("full", "kernels"),
    reason="fetches a kernel's sources: make soak SOAK=kernels",
)
def test_checkpatch_has_nothing_to_say(tmp_path):
    """checkpatch --strict complains about the driver exactly as EXCUSED lists, and about nothing
    else."""
    unpack = ["tar", "-x", "-f", built.source("6.1"), "-C", tmp_path, "--strip-components=2"]
    subprocess.run([*unpack, "--wildcards", *(f"*/scripts/{n}" for n in SCRIPTS)], check=True)
    files = [p for name, p in driver.our_inputs().items() if name != "Kbuild"]
    files.append(PROGRAMS / "importer" / "litepcie_importer.c")
    command = [tmp_path / "checkpatch.pl", "--no-tree", "--strict", "-q", "--terse", "--show-types"]
    # checkpatch leaves a file in its working directory, so it runs in a temporary directory.
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
    """sparse has no complaint about the driver's address spaces, byte orders and locks, and gcc
    gives no warning."""
    kernel = guest_kernel.ensure()
    for name, path in driver.our_inputs().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, tmp_path / name)
    command = ["make", "-C", kernel.headers, f"M={tmp_path}", f"CC={driver.compiler(kernel)}"]
    command += [*driver.OPTIONS, "C=2", "CHECK=sparse -D__CHECK_ENDIAN__", "modules"]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  CHECK   ") == len(
        [name for name in driver.our_inputs() if name.endswith(".c")]
    )
    complaints = [line for line in done.stderr.splitlines() if "warning" in line or "error" in line]
    # Kbuild warns if the compiler's name differs from Debian's, which has the version in it. The
    # compiler is the same, so this warning is left out.
    assert not [line for line in complaints if "compiler differs" not in line], done.stderr
