# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of user-slot logic alone, under cocotb: its Verilog, the bench of its tests, their run."""
