# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of user-slot logic alone, under cocotb: makes the logic's Verilog, and has the bench and
the run."""
