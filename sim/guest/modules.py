# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fetches modules of the guest's own kernel, which kernel.py does not keep.

Promises: the modules are those of exactly the kernel that boots. They are returned in the order in
which they must be loaded. Only those for VFIO, for PCIe errors and for virtio are kept; the other
drivers that a guest needs are built into the kernel.
"""

from __future__ import annotations

import lzma
import re
import shutil
from pathlib import Path

from sim.guest import SetupError, packages
from sim.guest.kernel import Kernel, part_of_image, series_of, sources
from sim.guest.packages import BUILD, Archive, Plan

# The folders and files of modules that are kept, below the folder of the kernel's modules.
KEPT = (
    "drivers/char/virtio_console.ko",
    "drivers/net/net_failover.ko",
    "drivers/net/virtio_net.ko",
    "drivers/pci/pcie",
    "drivers/vfio",
    "drivers/virtio",
    "net/core/failover.ko",
    "virt/lib",
)
# Debian's list of the drivers that the kernel has built in, which is kept beside the modules.
BUILT_IN = "modules.builtin"


def ensure(kernel: Kernel, wanted: str) -> list[Path]:
    """Return paths of the kernel module `wanted` and of all modules that it needs.

    They are in the order in which they must be loaded. The list is empty if the kernel has the
    driver built in.
    """
    root = fetch(kernel) / "root"
    built_in = {Path(line).stem for line in (root / BUILT_IN).read_text().splitlines()}
    if wanted.replace("-", "_") in {name.replace("-", "_") for name in built_in}:
        return []
    files = {path.stem.replace("-", "_"): path for path in root.glob("*.ko")}
    order: list[Path] = []

    def visit(name: str) -> None:
        if name not in files:
            raise SetupError(
                f"Linux {kernel.release} has no module {name}; it has {', '.join(sorted(files))}."
            )
        for other in dependencies(files[name]):
            visit(other)
        if files[name] not in order:
            order.append(files[name])

    visit(wanted.replace("-", "_"))
    return order


def dependencies(module: Path) -> list[str]:
    """Return the names of the kernel modules that this module depends on, from its section
    .modinfo."""
    found = re.search(rb"\0depends=([^\0]*)\0", module.read_bytes())
    return [name.decode().replace("-", "_") for name in found.group(1).split(b",") if name]


def fetch(kernel: Kernel) -> Path:
    """Fetch the package with the kernel's modules, and keep only those in KEPT.

    Returns the folder with them.
    """
    directory = BUILD / "kernel" / f"modules3-{kernel.version.replace('~', '-')}"
    if packages.manifest(directory):
        return directory

    def select(archive: Archive) -> Plan:
        package = part_of_image(archive, kernel.release, "modules")
        return archive.plan_exact([f"{package}={kernel.version}"])

    def finish(tree: Path) -> dict:
        root = tree / "root"
        kept = tree / "kept"
        kept.mkdir()
        for listed in root.glob(f"**/{BUILT_IN}"):
            shutil.copyfile(listed, kept / BUILT_IN)
        for part in KEPT:
            pattern = f"{part}*" if part.endswith(".ko") else f"{part}/**/*.ko*"
            for path in root.glob(f"**/kernel/{pattern}"):
                data = path.read_bytes()
                if path.suffix == ".xz":  # Debian compresses kernel modules since Linux 6.12.
                    data = lzma.decompress(data)
                (kept / f"{path.name.split('.ko')[0]}.ko").write_bytes(data)
        shutil.rmtree(root)
        kept.rename(root)
        return {"release": kernel.release}

    found = sources(series_of(kernel.release))
    packages.unpack(directory, f"modules {kernel.release}", found, select, finish)
    return directory
