# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Finds the mirror of Debian's packages: the one that this machine's own apt is set up with.

Promises: no mirror's name is in this source. On a machine that is not Debian the user names a
mirror: DEBIAN_MIRROR is its URL, DEBIAN_SUITE the release whose kernel to take. The default is
bookworm: its kernel is built with gcc 12, and the machine's compiler must not be older."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from sim.guest import SetupError

# The Debian suite that is used on a machine that is not Debian. It is the oldest one supported.
STRANGER = "bookworm"


def os_release(path: str = "/etc/os-release") -> dict[str, str]:
    """Return the fields of the machine's os-release file: ID, VERSION_CODENAME, PRETTY_NAME, ..."""
    with contextlib.suppress(OSError):
        return dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', Path(path).read_text(), re.MULTILINE))
    return {}


def is_debian() -> bool:
    """Return whether this machine is Debian itself, and not a distribution derived from Debian."""
    return os_release().get("ID") == "debian"


def suite() -> str:
    """Return the name of the Debian release from which the guest's kernel comes.

    It is $DEBIAN_SUITE, otherwise this machine's own release, otherwise STRANGER."""
    own = os_release().get("VERSION_CODENAME") if is_debian() else None
    return os.environ.get("DEBIAN_SUITE") or own or STRANGER


def configured() -> list[tuple[str, str]]:
    """Return pairs (mirror, suite) of every `main` component in the machine's apt configuration.

    `apt-get update --print-uris` only reads the configuration. So it works as any user, and on a
    machine that never ran an update."""
    if not shutil.which("apt-get"):
        raise SetupError(
            "there is no apt-get on this machine, and QEMU and the guest's kernel come from "
            "Debian's archive. `make sim VM=0` runs without a guest."
        )
    command = ["apt-get", "update", "--print-uris"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    pattern = r"^'(\S+?)/+dists/(\S+)/main/binary-amd64/Packages[^']*'"
    return list(dict.fromkeys(re.findall(pattern, result.stdout, re.MULTILINE)))


def sources() -> list[tuple[str, str]]:
    """Return pairs (mirror, suite) for the guest's kernel: main first, then updates."""
    if os.environ.get("DEBIAN_MIRROR"):
        return [(os.environ["DEBIAN_MIRROR"].rstrip("/"), suite())]
    chosen = choose(configured(), suite()) if is_debian() else []
    if not chosen:
        raise SetupError(
            f"apt on this machine ({os_release().get('PRETTY_NAME', 'unknown')}) has no mirror of "
            f"Debian's {suite()}. Name one: `DEBIAN_MIRROR=<its URL> make sim`. Or run `make sim "
            "VM=0`, which needs no guest."
        )
    return chosen


def choose(pairs: list[tuple[str, str]], release: str) -> list[tuple[str, str]]:
    """Return one Debian release's entries in an apt configuration: main first, then updates."""
    # apt's configuration may name a Debian release by codename or by class (stable, oldstable).
    names = {release, "stable", "oldstable"}
    main = [pair for pair in pairs if pair[1] in names]
    # A vendor may use Debian's suite names for its own packages. Debian's archive is the one whose
    # URL ends in `debian`.
    main.sort(key=lambda pair: not re.search(r"/debian$|debian\.list$", pair[0]))
    extra = [p for p in pairs if re.fullmatch(rf"({'|'.join(names)})-(updates|security)", p[1])]
    return [*main[:1], *extra] if main else []


def backports() -> list[tuple[str, str]]:
    """Return pairs (mirror, suite) of this release's backports; every mirror of Debian has them."""
    return [(debian(), f"{suite()}-backports")]


def debian() -> str:
    """Return the mirror from which the guest's kernel comes.

    It has Debian's other releases, too."""
    return sources()[0][0]
