# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The README, dkms.conf and the sources of the driver name the same kernels."""

import re
import subprocess

import pytest

from sim.test.board.board_builds import ROOT
from sim.test.driver.driver_guest import kernels

KERNEL = ROOT / "software" / "kernel"

# Functions that 6.1.0 has in private headers only. Later kernels of series 6.1 have them in public
# ones.
PRIVATE = ("pci_dev_is_disconnected",)


@pytest.mark.parametrize("options, refused", [((), True), (("-DCONFIG_64BIT",), False)])
def test_a_32_bit_kernel_is_refused_with_a_sentence(options, refused):
    """main.c refuses to be built for a 32-bit kernel, with a sentence. Other errors of this build
    do not count."""
    command = ["gcc", "-E", "-DLITEPCIE_CARD_H", *options, KERNEL / "main.c"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert ("litepcie needs a 64-bit kernel" in done.stderr) == refused


@pytest.mark.parametrize(
    "release, built",
    [
        ("5.10.0-30-amd64", False),
        ("6.0.12", False),
        ("6.1.0-56-amd64", True),
        ("6.12.117+deb12-amd64", True),
        ("7.3.0", True),
        ("10.1.0", True),
    ],
)
def test_dkms_builds_for_the_same_kernels(release, built):
    """The expression in dkms.conf accepts 64-bit kernels from 6.1 on, as compat.h does, and no
    older ones."""
    script = f'. {KERNEL / "dkms.conf"}; [[ "{release}" =~ $BUILD_EXCLUSIVE_KERNEL ]]'
    assert (subprocess.run(["bash", "-c", script]).returncode == 0) == built
    script = f". {KERNEL / 'dkms.conf'}; echo $BUILD_EXCLUSIVE_CONFIG"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stdout == "CONFIG_64BIT\n"


def test_nothing_private_to_the_oldest_kernel_is_used():
    """The driver uses no function of PRIVATE.

    Building the driver does not prove this: Debian's headers are those of late 6.1 kernels, which
    have more functions in public headers than 6.1.0.
    """
    for source in KERNEL.glob("*.[ch]"):
        for name in PRIVATE:
            assert name not in source.read_text(), f"{source.name} uses {name}"


def test_the_readme_names_the_kernels_that_are_built():
    """The first paragraph of the driver's README names the kernels of these tests, and no
    others."""
    text = (KERNEL / "README.md").read_text().split("\n\n")[1].replace("\n", " ")
    named = re.search(
        r"is built for the kernels of Debian 12, ([\d.]+) and its backport ([\d.]+),", text
    ).groups()
    assert named == ("6.1", "6.12")
    assert {kernel for kernel in kernels() if kernel} <= set(named)
