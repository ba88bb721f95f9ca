# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the driver's tests in a guest share: the kernels to test, test programs, shell functions,
and the check of the kernel log."""

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
# True in `make soak SOAK=full`: test loops have their full length.
FULL = os.environ.get("SOAK") == "full"
needs_kernels = pytest.mark.skipif(
    os.environ.get("SOAK") not in ("full", "kernels"),
    reason="builds a kernel, for minutes: make soak SOAK=kernels",
)
# Shell text for a guest: it mounts the kernel's debugfs.
DEBUGFS = "[ -e /sys/kernel/debug/x86 ] || mount -t debugfs none /sys/kernel/debug"
CARD = "/sys/bus/pci/devices/0000:01:00.0"
# QEMU's arguments for a guest in which the driver's calls and interrupts run at the same time.
TWO_CPUS = ("-smp", "2")
# In a guest of faulty_guest(), the parameters of the driver are files in this folder.
FAULTS = "/sys/module/litepcie/parameters"
# Shell text that puts the shell into a memory cgroup of 96 MiB. The program `fuzz` asks the driver
# for a gigabyte of ring, which the kernel then refuses at once.
CONFINE = (
    "[ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 none /sys/fs/cgroup",
    "echo +memory >/sys/fs/cgroup/cgroup.subtree_control",
    "mkdir -p /sys/fs/cgroup/fuzz && echo 96M >/sys/fs/cgroup/fuzz/memory.max",
    "echo $$ >/sys/fs/cgroup/fuzz/cgroup.procs",
)
# Shell text that opens file descriptors 8 and 9, which are the last two arguments of `fuzz`.
# Descriptor 8 is an open /dev/litepcie0 whose card has been unbound since. Descriptor 9 is the
# card's sysfs attribute `reset`. The card is bound again, now as /dev/litepcie1.
AWAY = f"""
exec 8<>/dev/litepcie0 9>{CARD}/reset
echo 0000:01:00.0 >/sys/bus/pci/drivers/litepcie/unbind
echo 0000:01:00.0 >/sys/bus/pci/drivers/litepcie/bind
chmod 666 /dev/litepcie1
"""
# The shell function `held A B` runs `stress hold`, and evaluates the shell text A once data flows.
# The program must then end with success. Then B is evaluated, after which the device node must be
# gone.
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
# The shell function `pinned` prints the number of pages that are pinned. The text also switches
# huge pages on, because a guest with little memory does not do so by itself.
PINNED = """
echo madvise >/sys/kernel/mm/transparent_hugepage/enabled
pinned() { awk '/^nr_foll_pin_acquired/ {n += $2} /^nr_foll_pin_released/ {n -= $2}
	END {print n}' /proc/vmstat; }
"""
# The shell function `stopped A` runs `stress reset`, and evaluates the shell text A once data
# flows. The program succeeds only if A stops its DMA, and DMA then runs again on the same open
# file.
STOPPED = """
stopped() {
	rm -f /tmp/flows
	stress reset /dev/litepcie0 /tmp/flows & user=$!
	while [ ! -e /tmp/flows ]; do kill -0 $user; sleep 0.02; done
	eval "$1"
	wait $user
}
"""
# Path in a guest of the driver that was built with software/kernel/test/faults.
FAULTY = "/faulty/litepcie.ko"
# Shell text that puts that driver in place of the usual one, and the other way round.
WITH_FAULTS = f"rmmod litepcie; insmod {FAULTY}"
# The driver that was built with software/kernel/test/causes: it takes interrupts for other ones.
CONFUSED = "/confused/litepcie.ko"
WITH_WRONG_CAUSES = f"rmmod litepcie; insmod {CONFUSED}"
WITHOUT = "rmmod litepcie; insmod /lib/modules/litepcie.ko"
# Matches a line of the guest's kernel log that no test may cause.
COMPLAINT = re.compile(
    r"^.*(WARNING:|BUG:|Oops|Call Trace|KASAN|refcount_t|possible circular|sleeping function|"
    r"DMA-API: (?!preallocated|debugging|cacheline tracking ENOMEM)|"
    r"unregister|use.after.free|scheduling while atomic|Bad page|hung task).*$",
    re.MULTILINE,
)


def kernels() -> list[str | None]:
    """Return the kernel series to test: None, which is the default series, and "6.12" if the
    machine's package sources offer it."""
    found = [None]
    with contextlib.suppress(SetupError):
        if "bookworm-security" in [suite for _, suite in mirror.sources()]:
            found.append("6.12")
    return found


def compile_program(name: str, software, out):
    """Build the static test program `name` from NAME.c and NAME_*.c in the folder kernel/test of
    `software`, or from all sources of the folder NAME there. Returns the program's path, which is
    in `out`."""
    programs = software / "kernel" / "test"
    out.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"]
    # Programs include calls.h, sources of the driver like card.h, and its ABI, uapi/litepcie.h.
    folders = (programs / "include", programs, software / "kernel", software)
    command += [f"-I{folder}" for folder in folders]
    sources = [*programs.glob(f"{name}.c"), *sorted(programs.glob(f"{name}_*.c"))]
    sources += sorted((programs / name).glob("*.c"))
    # The program gets its name only when it is complete, since another test may run or build it
    # meanwhile.
    staged = out / f"{name}.{os.getpid()}"
    command += ["-static", "-pthread", "-o", str(staged), *map(str, sources)]
    subprocess.run(command, check=True)
    return staged.replace(out / name)


@functools.cache
def program(name: str):
    """Build the test program `name` of the driver, as compile_program() does; returns its path."""
    return compile_program(name, ROOT / "software", ROOT / "build" / "software" / "kernel-test")


def importer(kernel=None):
    """Build the module litepcie_importer.ko for this kernel series: a second driver, which imports
    a ring of the card as a dma-buf. Returns the module's path."""
    folder = PROGRAMS / "importer"
    files = {name: folder / name for name in ("Kbuild", "litepcie_importer.c")}
    files["compat.h"] = driver.OURS / "compat.h"
    return driver.ensure_module(guest_kernel.ensure(kernel), files, "litepcie_importer")


def faulty_guest(series=None):
    """Return a guest whose driver is built with software/kernel/test/faults, so that a test can
    make it fail."""
    kernel = guest_kernel.ensure(series)
    return run.Guest(qemu.ensure(), kernel, variant(kernel, "faults"))


def variant(kernel, folder):
    """Build our driver together with the files of software/kernel/test/FOLDER, whose Kbuild
    includes the driver's own one as driver.mk. Returns the path of its litepcie.ko."""
    files = driver.our_inputs()
    files["driver.mk"] = files.pop("Kbuild")
    files |= {path.name: path for path in (PROGRAMS / folder).iterdir()}
    return driver.ensure_module(kernel, files, "litepcie")


def boot(
    board, commands, kernel=None, programs=("stress",), files=(), guest=None, **choices
) -> run.Result:
    """Run commands in a guest with our driver; returns the result. Fail if the kernel log has a
    complaint or the commands fail."""
    guest = guest or run.prepare(kernel)
    files = [(program(name), f"bin/{name}") for name in programs] + list(files)
    result = run.run_guest(board and board.socket, commands, files, guest=guest, **choices)
    check_log(result)
    assert result.rc == 0, result.console[-3000:] + result.files["dmesg"].decode()[-3000:]
    return result


def check_log(result: run.Result) -> None:
    """Fail if check_text() finds a complaint in the guest's kernel log of the run `result`."""
    check_text(result.files["dmesg"].decode())


def check_text(log: str) -> None:
    """Fail if the kernel log `log` has a warning, a trace or a finding of a debug option."""
    found = COMPLAINT.search(log)
    assert not found, log[found.start() :][:4000]
