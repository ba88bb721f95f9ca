# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Helpers for tests of liblitepcie in a guest: the library's test programs, and a machine with an
IOMMU and VFIO."""

import functools
import subprocess

from sim import artefacts
from sim.guest import kernel as guest_kernel
from sim.guest import modules, run
from sim.test.board.board_builds import ROOT
from sim.test.driver.driver_guest import check_log
from sim.test.guest.guest_python import libraries
from software.test.software_build import build_software, build_unchecked
from tools.locks import locked

CARD = "/sys/bus/pci/devices/0000:01:00.0"
IOMMU = ("-device", "intel-iommu,intremap=on,caching-mode=on")

# Shell text that binds the card to vfio-pci as `litepcie_util vfio bind` does, without that
# command.
BIND = f"echo vfio-pci >{CARD}/driver_override; echo 0000:01:00.0 >/sys/bus/pci/drivers_probe"


@functools.cache
def programs():
    """Build the library's test programs statically; returns their folder."""
    out = artefacts.software_folder(static=True)
    command = ["make", "-s", "-C", ROOT / "software", "STATIC=1", f"OUT={out}", "tests"]
    with locked(out.with_suffix(".lock")):
        result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return out / "test"


def checked(names, option):
    """Return the files for boot() with which a guest can run these test programs under a sanitizer.

    `option` is that of the software's Makefile, such as SANITIZE=1. A sanitizer takes a program
    with shared libraries, which have the same paths in the guest as on this machine.
    """
    built = [build_unchecked(option) / "test" / name for name in names]
    shared = [(path, str(path).lstrip("/")) for path in libraries(built).values()]
    return [(path, f"bin/{path.name}") for path in built] + shared


def boot(board, commands, names=(), files=(), vfio=True, guest=None, csr=None, **choices):
    """Run commands in a guest with these test programs, and with VFIO's modules if `vfio` is set.

    guest  a guest of the caller's own, in place of Debian's kernel with or without the driver
    csr    csr.json of the gateware, if it is not the default one
    """
    files = [(programs() / name, f"bin/{name}") for name in names] + list(files)
    files.append((csr or build_software().csr_json, "root/csr.json"))
    if vfio:
        loaded = modules.ensure(guest_kernel.ensure(), "vfio_iommu_type1")
        loaded += [m for m in modules.ensure(guest_kernel.ensure(), "vfio-pci") if m not in loaded]
        files += [(path, f"root/{path.name}") for path in loaded]
        commands = [*(f"insmod /root/{path.name}" for path in loaded), *commands]
    guest = guest or run.prepare(with_driver=not vfio)
    result = run.run_guest(board and board.socket, commands, files, guest=guest, **choices)
    check_log(result)
    assert result.rc == 0, result.console[-3000:] + result.files["dmesg"].decode()[-2000:]
    return result


def when(program, command):
    """Return shell text that starts the program in the background, and repeats the command while
    the program runs until the command succeeds. The text then waits for the program's end."""
    return (
        f"{program} >/dev/null & user=$!; until {command}; do kill -0 $user; sleep 0.1; done; "
        "wait $user"
    )


def interrupted(name):
    """Return shell text that succeeds once a processor has taken an interrupt with this name."""
    # The first line of /proc/interrupts has a word for each processor, so a count stands in each of
    # the words 2 to `processors` + 1.
    counts = "for (i = 2; i <= processors + 1; i++) n += $i"
    return (
        f"awk 'NR == 1 {{ processors = NF }} /{name}/ {{ {counts} }} END {{ exit !n }}' "
        "/proc/interrupts"
    )


def sentences(result):
    """Return the lines that programs have written to the guest's file /out/why."""
    return result.files["why"].decode().splitlines()
