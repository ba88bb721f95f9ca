# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The modules that measure the benchmark table, one for each group of rows.

The groups of the capture block and of the virtio devices have folders. All modules use these three:
limits.py computes what a row could reach, measure.py runs a measurement under given conditions, and
results.py has the row itself, its table and its file.
"""
