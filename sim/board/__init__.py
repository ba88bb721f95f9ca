# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Builds, starts and controls the board process.

It holds the Verilated gateware, the model of the PCIe hard block (PCIE4) and the vfio-user server.
"""
