# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The modules that measure the benchmark table, one for each group of rows, and limits.py."""
