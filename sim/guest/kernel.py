# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fetches a Debian kernel for the guest, with the headers that match it and a static busybox.

Promises: image and headers have one version, and kbuild is one that the headers accept. They come
from the machine's own release, so that its compiler can build the driver. The unpacked tree may be
moved. The newest version in the archive is taken, and kept until build/kernel is removed. The
flavour is `cloud`: drivers that a virtual machine boots from are built in, and the image has a
third of the size of the usual one.

The variable KERNEL names the series. Debian 12 has 6.1 (the default) and 6.12 (from its security
archive). Debian 13 has 6.12 and, in its backports, the newest series. These come from the same
mirror, whether or not the machine's own apt uses backports."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from sim.guest import SetupError, mirror, packages
from sim.guest.packages import BUILD, Archive, Plan

FLAVOUR = "cloud-amd64"
# The default series of the kernel for these releases of Debian. For any other release it is the one
# that the release's own package names.
DEFAULT = {"bookworm": "6.1", "trixie": "6.12"}

# Debian releases that offer backported kernels whose modules the release's own compiler can build.
BACKPORTED = ("trixie",)


@dataclass(frozen=True)
class Kernel:
    """The kernel that the guest boots, with the headers for its modules and a busybox."""

    release: str  # the release of the kernel, as `uname -r` prints it
    version: str  # Debian's version of the kernel package, which also counts security updates.
    image: Path
    headers: Path  # The folder with the kernel's headers, in which `make -C` builds modules.
    busybox: Path


def choose(archive: Archive, series: str) -> tuple[str, dict[str, str]]:
    """Return the release name and the control fields of the header package of this series.

    A `series` of "" stands for the release's default."""
    offered = _offered(archive)
    metas = [f"linux-headers-{series}-{FLAVOUR}"] if series else []
    for meta in [*metas, f"linux-headers-{FLAVOUR}"]:
        depends = archive.control(meta).get("Depends", "")
        found = re.search(rf"linux-headers-(\S+-{FLAVOUR})", depends)
        release = found.group(1) if found else ""
        its_series = series_of(release)
        if release in offered.get(its_series, []) and series in ("", its_series):
            return release, archive.control(f"linux-headers-{release}")
    # The wanted series is a backport that a newer series has superseded. Its newest release is
    # taken.
    if series in offered:
        release = max(offered[series], key=_numbers)
        return release, archive.control(f"linux-headers-{release}")
    raise SetupError(
        f"KERNEL={series or '(default)'}: there is no such kernel for {mirror.suite()} in the "
        f"flavour {FLAVOUR}; {archive.suites} offer {', '.join(sorted(offered)) or 'none'}. "
        "(Debian 12's 6.12 is in bookworm-security: apt must have that among its sources.)"
    )


def series_of(release: str) -> str:
    """Return the series of a kernel's release: 6.1 for 6.1.0-56-cloud-amd64."""
    return ".".join(release.split(".")[:2])


def _offered(archive: Archive) -> dict[str, list[str]]:
    """Return the kernel releases of which the archive has both image and headers, by series.

    The headers of a backport may be in the archive days before its image."""
    pattern = re.compile(rf"linux-image-((\d+\.\d+)\..*-{FLAVOUR})")
    offered: dict[str, list[str]] = {}
    for name in filter(None, map(pattern.fullmatch, archive.names("linux-image-"))):
        if archive.control(f"linux-headers-{name.group(1)}"):
            offered.setdefault(name.group(2), []).append(name.group(1))
    return offered


def _numbers(release: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", release)]


def plan(archive: Archive, series: str) -> tuple[dict, Plan]:
    """Return what to fetch for a kernel of this series.

    It is (release and version for the manifest, the packages to fetch)."""
    release, fields = choose(archive, series)
    version = fields["Version"]
    own = [part_of_image(archive, release, "binary"), f"linux-headers-{release}"]
    pinned = [f"{name}={version}" for name in own]
    exact = archive.plan_exact([*pinned, *parts_of_headers(fields["Depends"]), "busybox-static"])
    return {"release": release, "version": version}, exact


def parts_of_headers(depends: str) -> list[str]:
    """Return the packages to fetch of those that a header package depends on, for apt-get.

    They are the common headers and kbuild. The compiler and all others are the machine's own. A
    package gets the version that `depends` demands with "=". Without one, apt takes the newest:
    kbuild serves all releases of Linux 6.1, and its next version is in the archive for hours or
    days before the image of that version is signed."""
    part = r"(linux-(?:headers-\S+-common|kbuild-[^\s,]+))(?: \(= ([^)]+)\))?"
    return [f"{name}={version}" if version else name for name, version in re.findall(part, depends)]


def part_of_image(archive: Archive, release: str, part: str) -> str:
    """Return the name of the package with the image (`part` "binary") or its modules ("modules").

    Up to Linux 6 that is linux-image itself. From Linux 7 on, linux-image only depends on the
    packages with image and modules."""
    image = f"linux-image-{release}"
    name = f"linux-{part}-{release}"
    return name if f"{name} (" in archive.control(image).get("Depends", "") else image


def sources(series: str) -> list[tuple[str, str]]:
    """Return pairs (mirror, suite) that may have Debian's packages of this kernel series."""
    backports = mirror.suite() in BACKPORTED and series not in ("", DEFAULT[mirror.suite()])
    return mirror.sources() + (mirror.backports() if backports else [])


def make_movable(root: Path, release: str) -> None:
    """Remove unused files of the kernel, and make absolute paths in Debian's headers relative."""
    # Since Linux 7, Debian's package has the kernel's image in this place.
    for image in root.glob(f"usr/lib/modules/{release}/vmlinuz"):
        (root / "boot").mkdir(exist_ok=True)
        image.rename(root / "boot" / f"vmlinuz-{release}")
    for unused in ("lib/modules", "usr/lib/modules", "usr/share/doc"):
        shutil.rmtree(root / unused, ignore_errors=True)
    makefile = root / "usr/src" / f"linux-headers-{release}" / "Makefile"
    text = makefile.read_text()
    fixed = re.sub(r"^include /usr/src/", "include ../", text, flags=re.MULTILINE)
    fixed = re.sub(r"^KBUILD_OUTPUT=/usr/src/.*", "KBUILD_OUTPUT=$(CURDIR)", fixed, flags=re.M)
    if fixed == text or "/usr/src" in fixed:
        raise SetupError(
            f"the headers of {release} do not include /usr/src/...: Debian has changed their "
            "layout, and sim/guest/kernel.py must follow. Another KERNEL may still work."
        )
    makefile.write_text(fixed)


def ensure(series: str | None = None) -> Kernel:
    """Return the guest's kernel. Fetch it if it is not there.

    `series` is by default $KERNEL, or the default of the release."""
    series = series or os.environ.get("KERNEL") or DEFAULT.get(mirror.suite(), "")
    if series and not re.fullmatch(r"\d+\.\d+", series):
        raise SetupError(f"KERNEL={series}: a series is two numbers, such as 6.1 or 6.12.")
    directory = BUILD / "kernel" / f"{mirror.suite()}-{series or 'default'}"
    return load(directory, packages.manifest(directory) or fetch(directory, series))


def fetch(directory: Path, series: str) -> dict:
    """Fetch a Debian kernel of this series into `directory` and return its manifest."""
    facts: dict = {}

    def select(archive: Archive) -> Plan:
        chosen, files = plan(archive, series)
        facts.update(chosen)
        return files

    def finish(tree: Path) -> dict:
        make_movable(tree / "root", facts["release"])
        return facts

    return packages.unpack(directory, f"kernel {series}", sources(series), select, finish)


def load(directory: Path, content: dict) -> Kernel:
    """Return the kernel in an unpacked folder.

    Raises SetupError if a part of it is missing."""
    root, release = directory / "root", content["release"]
    merged = root / "usr/bin/busybox"  # Debian has busybox in this place since release 13.
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
