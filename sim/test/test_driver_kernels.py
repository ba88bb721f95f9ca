# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Which kernels the driver is for: what it says is what it refuses, and what it uses."""

import re
import subprocess

import pytest
from board_builds import ROOT
from driver_guest import kernels

KERNEL = ROOT / "software" / "kernel"

# Kernels of the 6.1 series and later had these for themselves, in private headers of theirs.
PRIVATE = ("pci_dev_is_disconnected",)


@pytest.mark.parametrize("options, refused", [((), True), (("-DCONFIG_64BIT",), False)])
def test_a_32_bit_kernel_is_refused_with_a_sentence(options, refused):
    """The first lines of main.c say so; what else is missing here does not matter."""
    command = ["gcc", "-E", "-DLITEPCIE_CARD_H", *options, KERNEL / "main.c"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert ("litepcie needs a 64-bit kernel" in done.stderr) == refused


@pytest.mark.parametrize(
    "release, built",
    [
        ("5.10.0-30-amd64", False), ("6.0.12", False), ("6.1.0-56-amd64", True),
        ("6.12.117+deb12-amd64", True), ("7.3.0", True), ("10.1.0", True),
    ],
)  # fmt: skip
def test_dkms_builds_for_the_same_kernels(release, built):
    """Its expression takes what compat.h takes, and nothing older."""
    script = f'. {KERNEL / "dkms.conf"}; [[ "{release}" =~ $BUILD_EXCLUSIVE_KERNEL ]]'
    assert (subprocess.run(["bash", "-c", script]).returncode == 0) == built
    script = f'. {KERNEL / "dkms.conf"}; echo $BUILD_EXCLUSIVE_CONFIG'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stdout == "CONFIG_64BIT\n"


def test_nothing_private_to_the_oldest_kernel_is_used():
    """Debian's headers are of late 6.1 kernels, which have more than 6.1.0: a build is no proof."""
    for source in KERNEL.glob("*.[ch]"):
        for name in PRIVATE:
            assert name not in source.read_text(), f"{source.name} uses {name}"


def test_the_readme_names_the_kernels_that_are_built():
    """Those of the tests and no others, in its first paragraph."""
    text = (KERNEL / "README.md").read_text().split("\n\n")[1].replace("\n", " ")
    named = re.search(r"is built for the kernels of Debian 12, ([\d.]+) and its backport ([\d.]+),",
        text).groups()  # fmt: skip
    assert named == ("6.1", "6.12")
    assert {kernel for kernel in kernels() if kernel} <= set(named)
