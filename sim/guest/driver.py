# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Builds the driver as a module for the guest's kernel: ours, or LitePCIe's own.

Promises: our driver is software/kernel. It asks the card which parts it has, so one module fits
every gateware. LitePCIe's driver is that of the installed litepcie package, unpatched, with the
gateware's register headers. A module is kept in build/driver/<hash> for each content of sources,
headers, kernel and compiler. LitePCIe's liteuart.c is not built: it does not compile from Linux
6.12 on, and the board has no UART."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sim.guest import SetupError
from sim.guest.kernel import Kernel
from sim.guest.packages import BUILD
from tools.locks import locked
from tools.progress import run

DRIVERS = ("lanebox", "stock")
OURS = Path(__file__).resolve().parents[2] / "software" / "kernel"
UAPI = OURS.parent / "uapi"
OUR_FILES = (
    "Kbuild",
    *(f"{folder}*.[ch]" for folder in ("", "capture/", "dma/", "file/", "virtio/")),
)

SOURCES = ("main.c", "litepcie.h", "config.h", "flags.h")
GENERATED = ("csr.h", "soc.h", "mem.h")
# The folder into which targets/sim.py --build writes the register headers csr.h, soc.h and mem.h.
HEADERS = BUILD / "sim" / "include"
KBUILD = "obj-m = litepcie.o\nlitepcie-objs = main.o\n"

# BTF is type information for tracers. Making it needs the program pahole, and nothing in the guest
# reads it.
OPTIONS = ("CONFIG_DEBUG_INFO_BTF_MODULES=",)


def source_directory() -> Path:
    """Return the folder with the driver's sources in the installed litepcie package."""
    # The package is found without importing it: litepcie.software imports distutils, which newer
    # Pythons lack, and only its files are needed here.
    found = importlib.util.find_spec("litepcie")
    if not found:
        raise SetupError(
            f"{sys.executable} has no package litepcie: run `python3 tools/prepare.py`, then use "
            ".venv/bin/python."
        )
    return Path(found.submodule_search_locations[0]) / "software" / "kernel"


def our_inputs() -> dict[str, Path]:
    """Return every source file of our module, by its place in a build.

    The place is the path in software/kernel. The headers of software/uapi are in the folder uapi.
    """
    found = [path for pattern in OUR_FILES for path in sorted(OURS.glob(pattern))]
    # A build in the source folder leaves the generated file litepcie.mod.c there.
    sources = {str(p.relative_to(OURS)): p for p in found if not p.name.endswith(".mod.c")}
    return sources | {f"uapi/{path.name}": path for path in sorted(UAPI.glob("*.h"))}


def stock_inputs(headers: Path) -> dict[str, Path]:
    """Return every source file of LitePCIe's module, by its name.

    `headers` is the folder with the gateware's csr.h, soc.h and mem.h."""
    files = {name: source_directory() / name for name in SOURCES}
    files.update({name: Path(headers) / name for name in GENERATED})
    for path in files.values():
        if not path.is_file():
            raise SetupError(
                f"{path} is missing: the driver needs the headers of the gateware, which "
                "`.venv/bin/python targets/sim.py --build` generates."
            )
    return files


def compiler(kernel: Kernel) -> str:
    """Return the compiler that made the kernel if this machine has it, otherwise gcc."""
    variables = kernel.headers / ".kernelvariables"
    words = variables.read_text().split() if variables.exists() else []
    named = next((word for word in words if "gcc-" in word), "").rpartition(")")[2]
    for program in (named, "gcc"):
        if program and shutil.which(program):
            return program
    raise SetupError("there is no gcc on this machine: run `python3 tools/prepare.py guest`.")


def content_hash(files: dict[str, Path], kernel: Kernel, program: str) -> str:
    """Return a hash of the module's sources, the kernel and the compiler.

    The hash names the folder of the module's build."""
    gcc = subprocess.run([program, "-dumpfullversion"], capture_output=True, text=True, check=True)
    parts = [kernel.release, kernel.version, program, gcc.stdout, KBUILD, *OPTIONS]
    for name, path in sorted(files.items()):
        parts += [name, hashlib.sha256(path.read_bytes()).hexdigest()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def ensure(kernel: Kernel, headers: Path = HEADERS, driver: str = DRIVERS[0]) -> Path:
    """Return the path of litepcie.ko for this kernel. Build it if it is not there.

    Only LitePCIe's driver needs `headers`."""
    if driver not in DRIVERS:
        raise SetupError(f"DRIVER={driver}: choose one of {', '.join(DRIVERS)}.")
    files = stock_inputs(headers) if driver == "stock" else our_inputs()
    return ensure_module(kernel, files, "litepcie")


def ensure_virtio(kernel: Kernel) -> Path:
    """Return the path of our module litepcie_virtio.ko for this kernel. Build it if it is not
    there."""
    module = ensure(kernel).with_name("litepcie_virtio.ko")
    if not module.exists():
        raise SetupError(
            f"Linux {kernel.release} has no virtio or no auxiliary bus, so litepcie_virtio.ko is "
            "not built for it."
        )
    return module


def ensure_module(kernel: Kernel, files: dict[str, Path], name: str) -> Path:
    """Return the path of NAME.ko for this kernel. Build it if it is not there.

    `files` are the sources: {place in the build: host path}. Other modules that their Kbuild makes
    lie beside NAME.ko."""
    program = compiler(kernel)
    module = BUILD / "driver" / content_hash(files, kernel, program) / f"{name}.ko"
    with locked(BUILD / ".driver.lock"):
        if not module.exists():
            module.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".build.", dir=BUILD / "driver") as work:
                made = build(Path(work), files, kernel, program, name)
                # NAME.ko comes last: if it is there, all modules are.
                for path in sorted(made, key=lambda path: path.name == module.name):
                    path.rename(module.with_name(path.name))
    return module


def build(
    work: Path, files: dict[str, Path], kernel: Kernel, program: str, name: str
) -> list[Path]:
    """Compile the kernel module NAME.ko in `work`, an empty folder, with the other modules of its
    Kbuild. Return the paths of all modules."""
    for place, path in files.items():
        (work / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, work / place)
    if "Kbuild" not in files:
        (work / "Kbuild").write_text(KBUILD)
    # kbuild gets a clean environment. Otherwise it would take variables that the caller's make
    # exports (jobs, V=1, KERNEL=6.12) as settings of its own.
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    argv = ["make", "-C", kernel.headers, f"M={work}", f"CC={program}", *OPTIONS, "modules"]
    run(argv, f"{name} for {kernel.release}", tie=True, env=environment)
    modules = sorted(work.glob("*.ko"))
    for module in modules:
        subprocess.run(["strip", "--strip-debug", str(module)], check=True)
    return modules
