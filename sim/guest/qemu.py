# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Finds or fetches a QEMU that can connect a vfio-user socket to its guest.

The machine's own QEMU is used if it can do that. Promises: each QEMU is asked whether it has the
device vfio-user-pci, whatever its version. $QEMU overrides every other one, and is refused with a
reason if it lacks the device. Nothing is installed. The fetched QEMU is Debian's, with its own C
library, in build/qemu.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from sim.guest import SetupError, mirror, packages
from sim.guest.packages import BUILD

PROGRAM = "qemu-system-x86_64"
DEVICE = "vfio-user-pci"
SUITE = "trixie"  # The oldest Debian whose backports have a QEMU with the device vfio-user-pci.

# The wrapper starts QEMU with the fetched loader. The fetched libraries need that loader, since the
# machine's own may be older.
WRAPPER = f"""#!/bin/sh
# QEMU from Debian's packages, under their own loader and libraries.
r=$(dirname "$(readlink -f "$0")")/root
exec "$r/usr/lib64/ld-linux-x86-64.so.2" --library-path "$r/usr/lib/x86_64-linux-gnu" \\
    --argv0 "$0" "$r/usr/bin/{PROGRAM}" \\
    -L "$r/usr/share/qemu" -L "$r/usr/share/seabios" -L "$r/usr/lib/ipxe/qemu" "$@"
"""


def refusal(program: str | Path) -> str | None:
    """Return why this QEMU cannot be used, or None if it can."""
    argv = [str(program), "-device", "help"]
    try:
        result = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    except FileNotFoundError:
        return "there is no such program"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it cannot be run: {error}"
    if result.returncode:
        last = (result.stderr.strip().splitlines() or ["no output"])[-1]
        return f"`-device help` ended with status {result.returncode}: {last}"
    if f'name "{DEVICE}"' not in result.stdout:
        return f"it has no device {DEVICE}, which QEMU has since version 10.1"
    return None


def find() -> Path | None:
    """Return the path of the QEMU to use, or None if one must be fetched."""
    named = os.environ.get("QEMU")
    if named:
        reason = refusal(named)
        if reason:
            raise SetupError(
                f"QEMU={named} cannot be used: {reason}. Unset QEMU to have a fitting one found "
                "or fetched."
            )
        return Path(named)
    for program in (shutil.which(PROGRAM), BUILD / "qemu" / PROGRAM):
        if program and Path(program).exists() and refusal(program) is None:
            return Path(program)
    return None


def fetch() -> Path:
    """Fetch Debian's QEMU into build/qemu. Return the path of its wrapper."""
    place = BUILD / "qemu"

    def finish(tree: Path) -> None:
        (tree / PROGRAM).write_text(WRAPPER)
        (tree / PROGRAM).chmod(0o755)

    backports = f"{SUITE}-backports"
    packages.unpack(
        place,
        "QEMU",
        [(mirror.debian(), SUITE), (mirror.debian(), backports)],
        lambda archive: archive.plan_closure(backports, "qemu-system-x86"),
        finish,
    )
    reason = refusal(place / PROGRAM)
    if reason:
        # Without its manifest the folder counts as incomplete, so the next run fetches QEMU again.
        (place / "manifest.json").unlink()
        raise SetupError(
            f"the QEMU that was fetched to {place} cannot be used: {reason}. Name another one: "
            f"QEMU=<path of {PROGRAM}>."
        )
    return place / PROGRAM


def ensure() -> Path:
    """Return the path of the QEMU to use. Fetch Debian's QEMU if no other can be used."""
    return find() or fetch()
