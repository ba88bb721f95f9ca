#!/usr/bin/env python3
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Python packages are folders of this repository, under their own names."""

import runpy

from setuptools import find_packages, setup

FOLDERS = ("gateware", "tools", "bringup", "targets", "sim")

setup(
    name="lanebox",
    version=runpy.run_path("gateware/numbers.py")["RELEASE"],
    description="Open PCIe DMA and MMIO for UltraScale+, with a board in a box",
    license="BSD-2-Clause",
    python_requires=">=3.11",
    packages=find_packages(include=[name for top in FOLDERS for name in (top, f"{top}.*")]),
    install_requires=["litex==2024.12", "litepcie==2024.12", "migen==0.10.0"],
)
