#!/usr/bin/env python3
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Python package `lanebox` is the folder gateware/: everything inside the FPGA."""

from setuptools import find_packages, setup

packages = ["lanebox", *("lanebox." + name for name in find_packages("gateware"))]

setup(
    name="lanebox",
    version="0.1.0",
    description="Open PCIe DMA and MMIO for UltraScale+, with a board in a box",
    license="BSD-2-Clause",
    python_requires=">=3.9",
    packages=packages,
    package_dir={"lanebox": "gateware"},
    install_requires=["litex==2024.12", "litepcie==2024.12", "migen==0.10.0"],
)
