# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the driver's tests share: its kernels, its test programs, and a log without complaints."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess

import pytest
from board_builds import ROOT

from sim.guest import SetupError, driver, mirror, qemu, run
from sim.guest import kernel as guest_kernel

PROGRAMS = ROOT / "software" / "kernel" / "test"
FULL = os.environ.get("SOAK") == "full"  # `make soak SOAK=full`: every count as it should be
needs_kernels = pytest.mark.skipif(
    os.environ.get("SOAK") not in ("full", "kernels"),
    reason="builds a kernel, for minutes: make soak SOAK=kernels",
)
DEBUGFS = "[ -e /sys/kernel/debug/x86 ] || mount -t debugfs none /sys/kernel/debug"
CARD = "/sys/bus/pci/devices/0000:01:00.0"
FAULTS = "/sys/module/litepcie/parameters"  # of the module in faulty_guest()
# In so little memory the gigabyte that fuzz asks for is refused at once.
CONFINE = (
    "[ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 none /sys/fs/cgroup",
    "echo +memory >/sys/fs/cgroup/cgroup.subtree_control",
    "mkdir -p /sys/fs/cgroup/fuzz && echo 96M >/sys/fs/cgroup/fuzz/memory.max",
    "echo $$ >/sys/fs/cgroup/fuzz/cgroup.procs",
)
# What the last two arguments of fuzz name: 8 is an open file whose card has gone, 9 resets the one
# that is there, which is /dev/litepcie1 now.
AWAY = f"""
exec 8<>/dev/litepcie0 9>{CARD}/reset
echo 0000:01:00.0 >/sys/bus/pci/drivers/litepcie/unbind
echo 0000:01:00.0 >/sys/bus/pci/drivers/litepcie/bind
chmod 666 /dev/litepcie1
"""
# Runs `stress hold` and, once data flows, what $1 says; the program must then end well by itself,
# and after what $2 says the node is gone.
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
# How many pages are pinned; and huge pages, which a guest with little memory has not by itself.
PINNED = """
echo madvise >/sys/kernel/mm/transparent_hugepage/enabled
pinned() { awk '/^nr_foll_pin_acquired/ {n += $2} /^nr_foll_pin_released/ {n -= $2}
	END {print n}' /proc/vmstat; }
"""
# Runs `stress reset` and, once data flows, what $1 says: DMA must stop, and run again.
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
    """The default, and 6.12 where apt has it beside that."""
    found = [None]
    with contextlib.suppress(SetupError):
        if "bookworm-security" in [suite for _, suite in mirror.sources()]:
            found.append("6.12")
    return found


@functools.cache
def program(name: str):
    """A static test program from software/kernel/test: NAME.c and NAME_*.c."""
    out = ROOT / "build" / "software" / "kernel-test"
    out.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"]
    command += ["-I", str(PROGRAMS / "include")]
    sources = [PROGRAMS / f"{name}.c", *sorted(PROGRAMS.glob(f"{name}_*.c"))]
    staged = out / f"{name}.{os.getpid()}"  # others may run it, or build it as well
    command += ["-static", "-pthread", "-o", str(staged), *map(str, sources)]
    subprocess.run(command, check=True)
    return staged.replace(out / name)


def importer(kernel=None):
    """litepcie_importer.ko for this kernel."""
    folder = PROGRAMS / "importer"
    files = {name: folder / name for name in ("Kbuild", "litepcie_importer.c")}
    files["compat.h"] = driver.OURS / "compat.h"
    return driver.ensure_module(guest_kernel.ensure(kernel), files, "litepcie_importer")


def faulty_guest(series=None):
    """A guest with a build of the driver that may be harmed: software/kernel/test/faults."""
    kernel = guest_kernel.ensure(series)
    files = driver.our_inputs()
    files["driver.mk"] = files.pop("Kbuild")
    files |= {name: PROGRAMS / "faults" / name for name in ("Kbuild", "faults.c", "faults.h")}
    return run.Guest(qemu.ensure(), kernel, driver.ensure_module(kernel, files, "litepcie"))


def boot(
    board, commands, kernel=None, programs=("stress",), files=(), guest=None, **choices
) -> run.Result:
    """Run commands in a guest with our driver; the kernel must have nothing to complain about."""
    guest = guest or run.prepare(kernel)
    files = [(program(name), f"bin/{name}") for name in programs] + list(files)
    result = run.run_guest(board and board.socket, commands, files, guest=guest, **choices)
    check_log(result)
    assert result.rc == 0, result.console[-3000:] + result.files["dmesg"].decode()[-3000:]
    return result


def check_log(result: run.Result) -> None:
    """The kernel's log of this run has nothing that check_text() refuses."""
    check_text(result.files["dmesg"].decode())


def check_text(log: str) -> None:
    """No warning, no trace, nothing that a debug option of the kernel found."""
    found = COMPLAINT.search(log)
    assert not found, log[found.start() :][:4000]
