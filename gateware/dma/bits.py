# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Bit numbers of the DMA's and the pattern's control registers, for the gateware and for programs
that drive a card. This module imports nothing, so that a program need not load LiteX for it."""

PATTERN_CONTROL = {"c2h_generate": 0, "h2c_check": 1}
# Each bit turns on one kind of notice.
NOTICES_CONTROL = {"c2h_records": 0, "c2h_status": 1, "h2c_status": 2}
