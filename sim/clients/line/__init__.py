# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The program `line`, in C++: a driver of the net device that keeps its rings full, and the far end
of its wire, which keeps the line full."""
