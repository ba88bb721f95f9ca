# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reads the board's pcapng trace of TLPs at the card's pins, and shows it in other forms."""
