# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What passed the card's pins: reads the board's pcapng trace and shows it in other forms."""
