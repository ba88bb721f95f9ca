# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""LitePCIe's DMA channel with this project's engines: descriptor tables, h2c and c2h, notices."""
