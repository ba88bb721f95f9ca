# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""For the driver's tests in a guest: kernels, test programs, shell functions, the check of the
kernel log."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess

import pytest

from sim.guest import SetupError, driver, mirror, qemu, run
from sim.guest import kernel as guest_kernel
from sim.test.board.board_builds import ROOT

PROGRAMS = ROOT / "software" / "kernel" / "test"
FULL = os.environ.get("SOAK") == "full"  # `make soak SOAK=full` runs all loops at their full length
needs_kernels = pytest.mark.skipif(
    os.environ.get("SOAK") not in ("full", "kernels"),
    reason="builds a kernel, for minutes: make soak SOAK=kernels",
)
DEBUGFS = "[ -e /sys/kernel/debug/x86 ] || mount -t debugfs none /sys/kernel/debug"
CARD = "/sys/bus/pci/devices/0000:01:00.0"
FAULTS = "/sys/module/litepcie/parameters"  # parameters of the driver built by faulty_guest()
# Shell text that puts the shell into a memory cgroup of 96 MiB. In it the kernel refuses at once
# the gigabyte of ring that the program `fuzz` asks the driver for.
CONFINE = (
    "[ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 none /sys/fs/cgroup",
    "echo +memory >/sys/fs/cgroup/cgroup.subtree_control",
    "mkdir -p /sys/fs/cgroup/fuzz && echo 96M >/sys/fs/cgroup/fuzz/memory.max",
    "echo $$ >/sys/fs/cgroup/fuzz/cgroup.procs",
)
# Shell text that opens the two descriptors which are the last arguments of `fuzz`. 8 is a file of
# /dev/litepcie0 whose card has been unbound since. 9 is the card's sysfs attribute `reset`; the
# card is bound again, now as /dev/litepcie1.
AWAY = f"""
exec 8<>/dev/litepcie0 9>{CARD}/reset
echo 0000:01:00.0 >/sys/bus/pci/drivers/litepcie/unbind
echo 0000:01:00.0 >/sys/bus/pci/drivers/litepcie/bind
chmod 666 /dev/litepcie1
"""
# The shell function `held A B` runs `stress hold`, and evaluates A once data flows. The program
# must then end with success. Then B is evaluated, after which the device node must be gone.
HELD = f"""
driver=/sys/bus/pci/drivers/litepcie
card={CARD}
held() {{
	rm -f /tmp/flows
	stress hold /dev/litepcie0 /tmp/flows &
	holder=$!
	while [ ! -e /tmp/flows ]; do kill -0 $holder; sleep 0.02; done
	eval "$1"
	wait $holder
	eval "$2"
	[ ! -e /dev/litepcie0 ]
}}
"""
# The shell function `pinned` prints the number of pinned pages. Huge pages are switched on here,
# because a guest with little memory does not switch them on by itself.
PINNED = """
echo madvise >/sys/kernel/mm/transparent_hugepage/enabled
pinned() { awk '/^nr_foll_pin_acquired/ {n += $2} /^nr_foll_pin_released/ {n -= $2}
	END {print n}' /proc/vmstat; }
"""
# The shell function `stopped A` runs `stress reset`, and evaluates A once data flows. The program
# succeeds only if A stops its DMA, and DMA then runs again on the same open file.
STOPPED = """
stopped() {
	rm -f /tmp/flows
	stress reset /dev/litepcie0 /tmp/flows & user=$!
	while [ ! -e /tmp/flows ]; do kill -0 $user; sleep 0.02; done
	eval "$1"
	wait $user
}
"""
COMPLAINT = re.compile(
    r"^.*(WARNING:|BUG:|Oops|Call Trace|KASAN|refcount_t|possible circular|sleeping function|"
    r"DMA-API: (?!preallocated|debugging|cacheline tracking ENOMEM)|"
    r"unregister|use.after.free|scheduling while atomic|Bad page|hung task).*$",
    re.MULTILINE,
)


def kernels() -> list[str | None]:
    """The kernel series to test: the default one (None), and 6.12 if apt offers it, too."""
    found = [None]
    with contextlib.suppress(SetupError):
        if "bookworm-security" in [suite for _, suite in mirror.sources()]:
            found.append("6.12")
    return found


@functools.cache
def program(name: str):
    """Build a static test program from software/kernel/test: NAME.c and NAME_*.c; returns its
    path."""
    out = ROOT / "build" / "software" / "kernel-test"
    out.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"]
    command += ["-I", str(PROGRAMS / "include")]
    sources = [PROGRAMS / f"{name}.c", *sorted(PROGRAMS.glob(f"{name}_*.c"))]
    # renamed when it is complete, since another test may run or build it, too
    staged = out / f"{name}.{os.getpid()}"
    command += ["-static", "-pthread", "-o", str(staged), *map(str, sources)]
    subprocess.run(command, check=True)
    return staged.replace(out / name)


def importer(kernel=None):
    """The module litepcie_importer.ko for this kernel: a second driver, which imports the card's
    buffers."""
    folder = PROGRAMS / "importer"
    files = {name: folder / name for name in ("Kbuild", "litepcie_importer.c")}
    files["compat.h"] = driver.OURS / "compat.h"
    return driver.ensure_module(guest_kernel.ensure(kernel), files, "litepcie_importer")


def faulty_guest(series=None):
    """A guest whose driver can be made to fail: it is built with software/kernel/test/faults."""
    kernel = guest_kernel.ensure(series)
    files = driver.our_inputs()
    files["driver.mk"] = files.pop("Kbuild")
    files |= {name: PROGRAMS / "faults" / name for name in ("Kbuild", "faults.c", "faults.h")}
    return run.Guest(qemu.ensure(), kernel, driver.ensure_module(kernel, files, "litepcie"))


def boot(
    board, commands, kernel=None, programs=("stress",), files=(), guest=None, **choices
) -> run.Result:
    """Run commands in a guest with our driver. Fails if the kernel log has a complaint or the
    commands fail."""
    guest = guest or run.prepare(kernel)
    files = [(program(name), f"bin/{name}") for name in programs] + list(files)
    result = run.run_guest(board and board.socket, commands, files, guest=guest, **choices)
    check_log(result)
    assert result.rc == 0, result.console[-3000:] + result.files["dmesg"].decode()[-3000:]
    return result


def check_log(result: run.Result) -> None:
    """Fail if the kernel log of this run has anything that check_text() refuses."""
    check_text(result.files["dmesg"].decode())


def check_text(log: str) -> None:
    """Fail at the first warning, trace or finding of a debug option in a kernel log."""
    found = COMPLAINT.search(log)
    assert not found, log[found.start() :][:4000]
