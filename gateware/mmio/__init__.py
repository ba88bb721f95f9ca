# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The MMIO bridge: the host's reads and writes of BAR0 and BAR2, on Wishbone, memories and AXI4."""
