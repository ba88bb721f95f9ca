# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The driver's README, its dkms.conf and its sources name the same kernels as those that it is
built for."""

import re
import subprocess

import pytest

from sim.guest import driver
from sim.test.board.board_builds import ROOT
from sim.test.driver.driver_guest import kernels

KERNEL = ROOT / "software" / "kernel"

# Functions that Linux 6.1.0 declares only in private headers, which the driver cannot include.
# Later kernels of the series 6.1 declare them in public headers.
PRIVATE = ("pci_dev_is_disconnected",)


@pytest.mark.parametrize("options, refused", [((), True), (("-DCONFIG_64BIT",), False)])
def test_a_32_bit_kernel_is_refused_with_a_sentence(options, refused):
    """If the driver is built for a 32-bit kernel, main.c refuses with a sentence. The test runs
    only the preprocessor, and ignores other errors."""
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
    """dkms.conf accepts 64-bit kernels from 6.1 on, as compat.h does, and no older ones."""
    script = f'. {KERNEL / "dkms.conf"}; [[ "{release}" =~ $BUILD_EXCLUSIVE_KERNEL ]]'
    assert (subprocess.run(["bash", "-c", script]).returncode == 0) == built
    script = f". {KERNEL / 'dkms.conf'}; echo $BUILD_EXCLUSIVE_CONFIG"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stdout == "CONFIG_64BIT\n"


def test_nothing_private_to_the_oldest_kernel_is_used():
    """The driver uses none of the functions in PRIVATE, so that it can be built for Linux 6.1.0.

    A build of the driver does not prove this. Debian's headers are those of a late kernel of the
    series 6.1, which has more functions in public headers than 6.1.0.
    """
    sources = [path for path in driver.our_inputs().values() if path.suffix in (".c", ".h")]
    assert len(sources) > 30
    for source in sources:
        for name in PRIVATE:
            assert name not in source.read_text(), f"{source.name} uses {name}"


def test_the_readme_names_the_kernels_that_are_built():
    """The driver's README names the kernel series 6.1 and 6.12, and the tests run the driver on no
    others."""
    text = (KERNEL / "README.md").read_text().split("\n\n")[1].replace("\n", " ")
    named = re.search(
        r"is built for the kernels of Debian 12, ([\d.]+) and its backport ([\d.]+),", text
    ).groups()
    assert named == ("6.1", "6.12")
    assert {kernel for kernel in kernels() if kernel} <= set(named)
