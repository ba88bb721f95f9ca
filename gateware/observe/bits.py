# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Bit numbers of the counters' control register, for the gateware and for programs that drive a
card. This module imports nothing, so that a program need not load LiteX for it."""

COUNTERS_CONTROL = {"snapshot": 0, "clear": 1}
