# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A Debian kernel for the guest, with the headers that match it and a static busybox.

Promises: image, headers and kbuild have one version; they come from the machine's own release, so
that its compiler can build the driver; the unpacked tree may be moved. The newest version that the
archive has is taken, and kept until build/kernel is removed. The cloud flavour it is: all that a
virtual machine boots from is built in, and the image is a third of the size.

KERNEL names the series: Debian 12 has 6.1 (the default) and 6.12 (from its security archive),
Debian 13 has 6.12.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from sim.guest import SetupError, mirror, packages
from sim.guest.packages import BUILD, Archive, Plan

FLAVOUR = "cloud-amd64"
DEFAULT = {"bookworm": "6.1", "trixie": "6.12"}  # elsewhere: what the release calls its default


@dataclass(frozen=True)
class Kernel:
    """What the guest boots, and what its modules are built against."""

    release: str  # as `uname -r` says
    version: str  # Debian's, which also counts security updates
    image: Path
    headers: Path  # what `make -C` takes
    busybox: Path


def choose(archive: Archive, series: str) -> tuple[str, dict[str, str]]:
    """Release name and control fields of the header package of this series ("": the default)."""
    metas = [f"linux-headers-{series}-{FLAVOUR}"] if series else []
    for meta in [*metas, f"linux-headers-{FLAVOUR}"]:
        depends = archive.control(meta).get("Depends", "")
        found = re.search(rf"linux-headers-(\S+-{FLAVOUR})", depends)
        if found and re.match(rf"{re.escape(series)}[.+-]" if series else "", found.group(1)):
            return found.group(1), archive.control(f"linux-headers-{found.group(1)}")
    pattern = re.compile(rf"linux-headers-(\d+\.\d+).*-{FLAVOUR}")
    offered = {m.group(1) for m in map(pattern.fullmatch, archive.names("linux-headers-")) if m}
    raise SetupError(
        f"KERNEL={series or '(default)'}: there is no such kernel for {mirror.suite()} in the "
        f"flavour {FLAVOUR}; {archive.suites} offer {', '.join(sorted(offered)) or 'none'}. "
        "(Debian 12's 6.12 is in bookworm-security: apt must have that among its sources.)"
    )


def plan(archive: Archive, series: str) -> tuple[dict, Plan]:
    """What the manifest must say, and the packages to fetch."""
    release, fields = choose(archive, series)
    version = fields["Version"]
    # The headers name what they include, and kbuild; their other dependencies are the machine's.
    parts = re.findall(r"(linux-headers-\S+-common|linux-kbuild-[^\s,]+)", fields["Depends"])
    names = [f"linux-image-{release}", f"linux-headers-{release}", *parts]
    exact = archive.plan_exact([*(f"{name}={version}" for name in names), "busybox-static"])
    return {"release": release, "version": version}, exact


def make_movable(root: Path, release: str) -> None:
    """Drop what is not used, and make the one absolute path in Debian's headers relative."""
    for unused in ("lib/modules", "usr/lib/modules", "usr/share/doc"):
        shutil.rmtree(root / unused, ignore_errors=True)
    makefile = root / "usr/src" / f"linux-headers-{release}" / "Makefile"
    text = makefile.read_text()
    fixed = re.sub(r"^include /usr/src/", "include ../", text, flags=re.MULTILINE)
    if fixed == text:
        raise SetupError(
            f"the headers of {release} do not include /usr/src/...: Debian has changed their "
            "layout, and sim/guest/kernel.py must follow. Another KERNEL may still work."
        )
    makefile.write_text(fixed)


def ensure(series: str | None = None) -> Kernel:
    """The guest's kernel, fetched if need be; default: $KERNEL, else the release's own."""
    series = series or os.environ.get("KERNEL") or DEFAULT.get(mirror.suite(), "")
    if series and not re.fullmatch(r"\d+\.\d+", series):
        raise SetupError(f"KERNEL={series}: a series is two numbers, such as 6.1 or 6.12.")
    directory = BUILD / "kernel" / f"{mirror.suite()}-{series or 'default'}"
    return load(directory, packages.manifest(directory) or fetch(directory, series))


def fetch(directory: Path, series: str) -> dict:
    """Fetch a kernel and return its manifest."""
    facts: dict = {}

    def select(archive: Archive) -> Plan:
        chosen, files = plan(archive, series)
        facts.update(chosen)
        return files

    def finish(tree: Path) -> dict:
        make_movable(tree / "root", facts["release"])
        return facts

    return packages.unpack(directory, f"kernel {series}", mirror.sources(), select, finish)


def load(directory: Path, content: dict) -> Kernel:
    """The kernel of an unpacked directory; every part of it must be there."""
    root, release = directory / "root", content["release"]
    merged = root / "usr/bin/busybox"  # since Debian 13
    kernel = Kernel(
        release=release,
        version=content["version"],
        image=root / "boot" / f"vmlinuz-{release}",
        headers=root / "usr/src" / f"linux-headers-{release}",
        busybox=merged if merged.exists() else root / "bin/busybox",
    )
    for path in (kernel.image, kernel.headers / "Makefile", kernel.busybox):
        if not path.exists():
            raise SetupError(f"{path} is missing. Remove {directory} and run the command again.")
    return kernel
