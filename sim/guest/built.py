# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Builds kernels for the guest from Debian's sources, with a configuration of our own.

Debian's binary kernels lack the options that some tests need. `p2p` is Linux 6.12 with peer-to-peer
DMA, IOMMUFD and VFIO's devices. `debug` is 6.1 with KASAN, lockdep, kmemleak, DMA API debugging and
fault injection. `races` is 6.1 with KCSAN. The configurations are in sim/guest/config.

Promises: each content of a configuration is built once, in build/kernel. Only the image and the
files that modules are built against are kept. A build takes a quarter of an hour on two idle cores,
and an hour on busy ones. Where ccache is installed, it compiles, so a build that was stopped goes
on near where it was.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from sim.guest import SetupError, mirror, packages
from sim.guest import kernel as guest_kernel
from sim.guest.kernel import Kernel
from sim.guest.packages import BUILD
from tools.locks import locked
from tools.progress import run

CONFIG = Path(__file__).resolve().parent / "config"
# The series of the Linux kernel that is built, for each name of a kernel configuration.
KERNELS = {"p2p": "6.12", "debug": "6.1", "races": "6.1"}
IMAGE = "arch/x86/boot/bzImage"
# Folders of the source tree that are removed after the build. Modules are built without them, and a
# kernel's sources take a gigabyte.
UNUSED = (
    "Documentation",
    "block",
    "certs",
    "crypto",
    "drivers",
    "fs",
    "init",
    "io_uring",
    "ipc",
    "kernel",
    "lib",
    "mm",
    "net",
    "samples",
    "security",
    "sound",
    "usr",
    "virt",
    "rust",
)
SKIPPED = ("*/Documentation/*/*", "*/arch/*/boot/dts/*", "*/drivers/gpu/drm/*/*.[ch]")
PROGRAMS = ("flex", "bison", "bc", "xz")


def ensure(name: str) -> Kernel:
    """Return the guest kernel of this name. Build it if it is not there."""
    if name not in KERNELS:
        raise SetupError(f"kernel {name}: there are {', '.join(KERNELS)}.")
    place = BUILD / "kernel" / f"{name}-{digest(name)}"
    with locked(BUILD / f".{name}.lock"):
        if not (place / IMAGE).exists():
            build(name, place)
    release = (place / "include/config/kernel.release").read_text().strip()
    busybox = guest_kernel.ensure().busybox
    return Kernel(release, place.name, place / IMAGE, place, busybox)


def fragments(name: str) -> list[Path]:
    """Return the configuration files whose options are merged into the kernel's tinyconfig."""
    return [CONFIG / "base.config", CONFIG / f"{name}.config"]


def digest(name: str) -> str:
    """Return a hash of the kernel's series and configuration.

    The hash is in the name of the folder of the build.
    """
    parts = [KERNELS[name], *(path.read_text() for path in fragments(name))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def source(series: str) -> Path:
    """Return Debian's source archive of this kernel series. Fetch it if it is not there."""
    directory = BUILD / "kernel" / f"source-{series}"
    package = f"linux-source-{series}"
    if not packages.manifest(directory):
        packages.unpack(
            directory,
            f"sources of {series}",
            mirror.sources(),
            lambda archive: archive.plan_exact([package]),
        )
    return directory / "root" / "usr" / "src" / f"{package}.tar.xz"


def build(name: str, place: Path) -> None:
    """Configure and compile Linux in a temporary folder, and rename the folder to `place`."""
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing or not Path("/usr/include/libelf.h").exists():
        raise SetupError(
            f"a kernel is built with {', '.join(PROGRAMS)} and libelf's header: run "
            "`python3 tools/prepare.py kernels`."
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    home = os.environ.get("HOME", str(place.parent))  # ccache keeps objects under it
    environment = {"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8"}
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=place.parent) as work:
        tree = Path(work) / "tree"
        tree.mkdir()
        unpack = ["tar", "-x", "-f", source(KERNELS[name]), "-C", tree, "--strip-components=1"]
        unpack += [f"--exclude={pattern}" for pattern in SKIPPED]
        run(unpack, f"kernel {name}: unpack", tie=True, env=environment)
        configure(tree, name, environment)
        argv = ["make", "-s", "-C", tree, f"-j{os.cpu_count()}", *compiler(), "bzImage", "modules"]
        run(argv, f"kernel {name}: compile", tie=True, env=environment)
        prune(tree)
        shutil.rmtree(place, ignore_errors=True)
        tree.rename(place)


def compiler() -> list[str]:
    """Return the words of make that have ccache compile; none where there is no ccache."""
    return ["CC=ccache gcc", "HOSTCC=ccache gcc"] if shutil.which("ccache") else []


def configure(tree: Path, name: str, environment: dict[str, str]) -> None:
    """Write the kernel's .config: tinyconfig with the fragments merged in.

    Raises SetupError if the kernel's configuration dropped an option that a fragment asks for.
    """
    merge = ["scripts/kconfig/merge_config.sh", "-m", ".config", *map(str, fragments(name))]
    for argv in (["make", "-s", "tinyconfig"], merge, ["make", "-s", "olddefconfig"]):
        subprocess.run(argv, cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)
    lines = (tree / ".config").read_text().splitlines()
    wanted = {
        line
        for path in fragments(name)
        for line in path.read_text().splitlines()
        if line.startswith("CONFIG_") and not line.endswith("=n")
    }
    lost = sorted(wanted - set(lines))
    if lost:
        raise SetupError(f"kernel {name}: {KERNELS[name]} has no {', '.join(lost)}")


def prune(tree: Path) -> None:
    """Remove everything from the kernel's tree but the image and what modules are built against."""
    for unused in UNUSED:
        shutil.rmtree(tree / unused, ignore_errors=True)
    for pattern in ("*.o", "*.a", "vmlinux*", ".*.cmd"):
        for path in tree.rglob(pattern):
            if path.is_file() and tree / "scripts" not in path.parents:
                path.unlink()
