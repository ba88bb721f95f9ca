# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The board in a box: the gateware on a model of the PCIe hard block, connected to a host."""
