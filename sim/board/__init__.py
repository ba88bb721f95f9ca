# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The board process: Verilated SoC, PCIE4 model, vfio-user server."""
