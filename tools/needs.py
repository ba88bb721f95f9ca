# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Says what each part of the project needs: programs, headers and libraries on the machine.

Promises: a need is a question to the machine. A package is named only if the answer is no, so a
tool that was installed in another way counts. The questions of all groups together take well under
0.2 s. The groups are: `sim` builds gateware and board. `guest` builds the driver for the guest.
`spinal` builds the SpinalHDL blocks. `readers` are other projects' programs, by which tests check
our output. `synthesis` also has Python packages (tools/requirements-synthesis.lock). `card` talks
to a card. `kernels` builds kernels for the guest that Debian does not have (sim/guest/built.py).
`root` installs a fresh Debian into a folder (tools/fresh_root.py). `cocotb` runs the tests of a
user's own block. `firmware` compiles the management CPU's firmware; without it a build has no such
CPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
VERILATOR = (5, 6)
JAVA = 17
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# Folders of programs for administrators, which are often not in a user's PATH.
SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


def program(name: str) -> Callable[[], bool]:
    """Return a function that says whether this program is in PATH.

    Each program has a need of its own, as it has its own package.
    """
    return lambda: bool(shutil.which(name))


def find_system_program(name: str) -> str | None:
    """Return the path of a program in PATH or in SYSTEM_FOLDERS, or None."""
    places = [os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS]
    return shutil.which(name, path=os.pathsep.join(places))


def system_program(name: str) -> Callable[[], bool]:
    """Return a function that says whether this program is in PATH or in SYSTEM_FOLDERS."""
    return lambda: bool(find_system_program(name))


def any_program(*names: str) -> Callable[[], bool]:
    """Return a function that says whether any of these programs is in PATH."""
    return lambda: any(shutil.which(name) for name in names)


def header(name: str) -> Callable[[], bool]:
    """Return a function that says whether the C++ compiler finds this header."""

    def probe() -> bool:
        if not shutil.which("g++"):
            return False
        # A header in /usr/include is found without asking the compiler, which takes longer.
        if Path("/usr/include", name).exists():
            return True
        result = subprocess.run(
            ["g++", "-E", "-x", "c++", "-"],
            input=f"#include <{name}>\n".encode(),
            capture_output=True,
            check=False,
        )
        return result.returncode == 0

    return probe


def library(name: str) -> Callable[[], bool]:
    """Return a function that says whether the loader finds this shared library."""

    def probe() -> bool:
        with contextlib.suppress(OSError):
            return bool(ctypes.CDLL(name))
        return False

    return probe


def verilator() -> bool:
    """Return whether the machine has a Verilator that is new enough."""
    with contextlib.suppress(OSError):
        asked = subprocess.run(["verilator", "--version"], capture_output=True, text=True)
        found = re.search(r"Verilator (\d+)\.(\d+)", asked.stdout)
        return bool(found) and tuple(map(int, found.groups())) >= VERILATOR
    return False


def waveform_compression() -> bool:
    """Return whether lz4.h is there if the installed Verilator needs it.

    Older versions of Verilator have their own lz4.
    """
    program = shutil.which("verilator")
    if not program:
        # Without Verilator it is not known whether lz4.h is needed, so it counts as needed.
        return True
    root = Path(program).resolve().parents[1] / "share" / "verilator"
    if not root.exists():
        query = [program, "--getenv", "VERILATOR_ROOT"]
        asked = subprocess.run(query, capture_output=True, text=True, check=False)
        root = Path(asked.stdout.strip() or root)
    sources = root / "include" / "gtkwave"
    wanted = any("lz4.h" in path.read_text(errors="replace") for path in sources.glob("fstapi.*"))
    return not wanted or (sources / "lz4.h").exists() or header("lz4.h")()


def java_compiler() -> bool:
    """Return whether the machine has a JDK that is new enough.

    The JDK's file `release` is read, which saves starting a Java machine.
    """
    javac = shutil.which("javac")
    if javac:
        with contextlib.suppress(OSError):
            text = (Path(javac).resolve().parents[1] / "release").read_text()
            found = re.search(r'^JAVA_VERSION="(\d+)', text, re.MULTILINE)
            return bool(found) and int(found.group(1)) >= JAVA
    return False


def python_modules() -> bool:
    """Return whether the modules that make a virtual environment are there.

    Debian packages these modules separately.
    """
    return all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))


def python_library() -> bool:
    """Return whether this Python's shared library is there, which cocotb loads.

    Debian packages the library separately.
    """
    architecture = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"
    places = (sysconfig.get_config_var("LIBDIR"), f"/usr/lib/{architecture}", "/usr/lib")
    return any(Path(place, f"lib{PYTHON}.so.1.0").exists() for place in places if place)


def picolibc() -> bool:
    """Return whether the RISC-V compiler finds picolibc, the C library of the firmware."""
    compiler = shutil.which("riscv64-unknown-elf-gcc")
    if not compiler:
        return False
    asked = [compiler, "-print-file-name=picolibc.specs"]
    return Path(subprocess.run(asked, capture_output=True, text=True).stdout.strip()).is_absolute()


def debian_keyring() -> bool:
    """Return whether the machine has the keys that sign Debian's packages.

    QEMU and the guest's kernel come from such packages.
    """
    return Path(os.environ.get("DEBIAN_KEYRING", KEYRING)).exists()


@dataclass(frozen=True)
class Need:
    """Something that a machine must have, and the one package that contains it.

    `one_of` are that package's names in different releases: the first that apt knows is installed.
    Things from two packages are two needs. With one need for both, the second package would never
    be installed. `optional`: if apt knows no such package (Ubuntu has browsers as snaps only), the
    need is dropped, and its tests are skipped.
    """

    what: str
    probe: Callable[[], bool]
    one_of: tuple[str, ...]
    optional: bool = False


NEEDS = {
    "sim": [
        Need("make", program("make"), ("make",)),
        Need("C compiler", program("gcc"), ("gcc",)),
        Need("C++ compiler", program("g++"), ("g++",)),
        Need("strip", program("strip"), ("binutils",)),
        Need("C library", header("stdio.h"), ("libc6-dev",)),
        Need("Verilator >= 5.006", verilator, ("verilator",)),
        Need("zlib for waveforms", header("zlib.h"), ("zlib1g-dev",)),
        Need("lz4 for waveforms", waveform_compression, ("liblz4-dev",)),
        Need("ccache", program("ccache"), ("ccache",)),
        Need("Python's venv", python_modules, ("python3-venv",)),
    ],
    "guest": [
        Need("C compiler", program("gcc"), ("gcc",)),
        Need("strip", program("strip"), ("binutils",)),
        Need("libelf for kbuild", library("libelf.so.1"), ("libelf1t64", "libelf1")),
        Need("apt-get", program("apt-get"), ()),
        Need("dpkg-deb", program("dpkg-deb"), ()),
        Need("Debian's keyring", debian_keyring, ("debian-archive-keyring",)),
    ],
    "kernels": [
        Need("flex", program("flex"), ("flex",)),
        Need("bison", program("bison"), ("bison",)),
        Need("bc", program("bc"), ("bc",)),
        Need("xz", program("xz"), ("xz-utils",)),
        Need("libelf's header", header("libelf.h"), ("libelf-dev",)),
    ],
    "spinal": [
        Need("Java compiler >= 17", java_compiler, ("default-jdk-headless",)),
        Need("Maven", program("mvn"), ("maven",)),
    ],
    "readers": [
        Need("tshark", program("tshark"), ("tshark",)),
        Need("tcpdump", program("tcpdump"), ("tcpdump",)),
        Need("lspci", program("lspci"), ("pciutils",)),
        Need("groff", program("groff"), ("groff-base",)),
        Need("jq", program("jq"), ("jq",)),
        Need("libpcap", library("libpcap.so.0.8"), ("libpcap0.8t64", "libpcap0.8")),
        Need("valgrind", program("valgrind"), ("valgrind",)),
        Need("strace", program("strace"), ("strace",)),
        Need("sparse", program("sparse"), ("sparse",)),
        Need("flashrom", system_program("flashrom"), ("flashrom",)),
        Need("headless Chromium", any_program(*BROWSERS), ("chromium-headless-shell",), True),
        Need("Python's library for cocotb", python_library, (f"lib{PYTHON}",)),
    ],
    "firmware": [
        Need(
            "RISC-V compiler",
            program("riscv64-unknown-elf-gcc"),
            ("gcc-riscv64-unknown-elf",),
            True,
        ),
        Need("C library for RISC-V", picolibc, ("picolibc-riscv64-unknown-elf",), True),
    ],
    "cocotb": [
        Need("Python's library for cocotb", python_library, (f"lib{PYTHON}",)),
    ],
    "python": [],
    "synthesis": [
        Need("Tcl, to check the vendor tool's scripts", program("tclsh"), ("tcl",)),
    ],
    "card": [
        Need("OpenOCD, to load a card", program("openocd"), ("openocd",)),
    ],
    "root": [
        Need("debootstrap", program("debootstrap"), ("debootstrap",)),
        Need("Debian's keyring", debian_keyring, ("debian-archive-keyring",)),
    ],
}


def missing(groups: list[str]) -> list[Need]:
    """Return the needs (programs, headers, libraries) of these groups that this machine does not
    meet.
    """
    return [need for group in groups for need in NEEDS[group] if not need.probe()]
