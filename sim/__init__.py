# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The full-system simulation: the gateware runs on a model of the PCIe hard block and its host."""
