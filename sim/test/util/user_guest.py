# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of liblitepcie in a guest: its test programs, and a machine with VFIO."""

import functools
import subprocess

from board_builds import ROOT
from driver_guest import check_log
from software_build import build_software

from lanebox.locks import locked
from sim.guest import kernel as guest_kernel
from sim.guest import modules, run

CARD = "/sys/bus/pci/devices/0000:01:00.0"
IOMMU = ("-device", "intel-iommu,intremap=on,caching-mode=on")

# Binds the card as `litepcie_util vfio bind` does, without depending on that command.
BIND = f"echo vfio-pci >{CARD}/driver_override; echo 0000:01:00.0 >/sys/bus/pci/drivers_probe"


@functools.cache
def programs():
    """Build the test programs statically; returns their folder."""
    out = ROOT / "build" / "test-software-static"
    command = ["make", "-s", "-C", ROOT / "software" / "user", "STATIC=1", f"OUT={out}", "tests"]
    with locked(out.with_suffix(".lock")):
        result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return out / "test"


def boot(board, commands, names=(), files=(), vfio=True, guest=None, csr=None, **choices):
    """Run commands in a guest with these programs, and with VFIO's modules if `vfio`.

    guest  a guest of the caller's own, in place of Debian's kernel with or without the driver
    csr    csr.json of the gateware, if it is not the default
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
    """Shell text: run the program, and the command again and again until it succeeds meanwhile."""
    return (f"{program} >/dev/null & user=$!; until {command}; do kill -0 $user; sleep 0.1; done; "
        "wait $user")  # fmt: skip


def interrupted(name):
    """Shell text that succeeds once an interrupt of this name has occurred (on one processor)."""
    return f"awk '/{name}/ {{ n += $2 }} END {{ exit !n }}' /proc/interrupts"


def sentences(result):
    """The lines that programs wrote to /out/why."""
    return result.files["why"].decode().splitlines()
