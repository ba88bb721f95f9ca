# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fetches the programs of Wireshark, and tcpdump, that a release of Debian has. So a test runs the
programs of several releases on one machine.

Promises: apt has verified the packages. Nothing of them is installed, and no program needs a
library of this machine. They are fetched once, into build/wireshark. Limit: Wireshark's plugins are
left out, so file types and protocols that only a plugin knows are not there.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from sim.guest import debian, packages
from sim.guest.packages import BUILD
from tools import fresh_root

RELEASES = tuple(fresh_root.SUITES)
PACKAGES = ("tshark", "wireshark-common", "tcpdump")
PROGRAMS = ("tshark", "capinfos", "editcap", "mergecap", "reordercap", "randpkt", "tcpdump")
# tshark starts this program for a capture. It looks for it in the folder of its own executable,
# which is the loader: the kernel has started the loader, and the loader has started tshark.
CAPTURING = "dumpcap"
DATA = "usr/share/wireshark"
# Wireshark 4.4 starts no extcap program, not even one of the user's, if this folder is missing.
EXTCAP = "lib/extcap/wireshark"
# If this file is missing, Wireshark 4.4 ignores the Lua scripts of a user who is root.
SETTINGS = "lib/plugins/init.lua"
# a script that starts a program by the loader of its release, with the libraries of its release
SCRIPT = """#!/bin/sh
here=$(dirname "$(realpath "$0")")/..
export WIRESHARK_DATA_DIR="$here/lib" WIRESHARK_PLUGIN_DIR="$here/lib/plugins"
exec "$here/lib/{loader}" --library-path "$here/lib" --argv0 "$0" "$here/programs/{program}" "$@"
"""


def keep(tree: Path) -> None:
    """Reduce the unpacked tree to the programs, their libraries and Wireshark's data, and write a
    script for each program."""
    root, kept = tree / "root", tree / "kept"
    for name in ("bin", EXTCAP, "programs"):
        (kept / name).mkdir(parents=True)
    found = [next(root.glob(f"usr/*bin/{name}")) for name in (*PROGRAMS, CAPTURING)]
    files = {debian.LOADER: debian.loader(root), **debian.libraries(root, found)}
    for name, path in files.items():
        shutil.copy(path, kept / "lib" / name)
    for path in found:
        shutil.copy(path, kept / "programs")
        script = kept / ("lib" if path.name == CAPTURING else "bin") / path.name
        script.write_text(SCRIPT.format(loader=debian.LOADER, program=path.name))
        script.chmod(0o755)
    (kept / SETTINGS).parent.mkdir()
    (kept / SETTINGS).write_text("run_user_scripts_when_superuser = true\n")
    # Wireshark 4.0 finds its data by WIRESHARK_DATA_DIR, and 4.4 in the folder of its executable.
    shutil.copytree(root / DATA, kept / "lib", dirs_exist_ok=True)
    shutil.rmtree(root)
    kept.rename(root)


def programs(release: str) -> Path:
    """Return the folder with PROGRAMS of a release of Debian. They are fetched if they are not
    there."""
    directory = BUILD / "wireshark" / fresh_root.SUITES[release]
    if not packages.manifest(directory):
        packages.unpack(
            directory,
            f"Wireshark of Debian {release}",
            fresh_root.archive(release),
            lambda archive: archive.plan_closure(fresh_root.SUITES[release], *PACKAGES),
            keep,
        )
    return directory / "root" / "bin"


def environment(release: str) -> dict[str, str]:
    """Return this process's environment, in which the programs of a release stand before others."""
    return {**os.environ, "PATH": f"{programs(release)}:{os.environ['PATH']}"}
