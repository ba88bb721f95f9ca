# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Stand-ins for QEMU and a guest kernel. Tests use them to check how the launcher handles failures,
without booting a guest."""

from __future__ import annotations

import os
import time
from pathlib import Path

from sim.guest.kernel import Kernel
from sim.guest.run import Guest

HELP = 'name "vfio-user-pci", bus PCI, desc "VFIO over socket PCI device assignment"'


def program(path: Path, text: str) -> Path:
    """Write an executable shell script; returns its path."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def fake_qemu(path: Path, text: str, devices: str = HELP) -> Path:
    """Write a script that stands in for QEMU; returns its path. When the launcher asks for QEMU's
    device list, the script prints `devices`. Otherwise it runs the shell text `text`."""
    asked = f"case \"$*\" in *'-device help'*) echo '{devices}'; exit 0 ;; esac"
    return program(path, f"{asked}\n{text}")


def fake_guest(folder: Path, text: str) -> Guest:
    """Return a guest whose QEMU is a script that runs the shell text `text`. pid_of() returns the
    script's process ID."""
    for name in ("vmlinuz", "busybox"):
        (folder / name).write_bytes(b"not run")
    kernel = Kernel("6.1.0-test", "1", folder / "vmlinuz", folder, folder / "busybox")
    return Guest(fake_qemu(folder / "qemu", f'echo $$ > "$0.pid"\n{text}'), kernel, None)


def pid_of(guest: Guest, seconds: float = 10) -> int:
    """Wait until the script in place of QEMU has started; returns its process ID."""
    path = Path(f"{guest.qemu}.pid")
    deadline = time.monotonic() + seconds
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < deadline, "QEMU was not started"
        time.sleep(0.02)
    return int(path.read_text())


def is_gone(pid: int, seconds: float = 5) -> bool:
    """Return whether a process ends within `seconds`. A zombie counts as ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            if ") Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False
