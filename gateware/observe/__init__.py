# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The blocks by which software observes the card: counters, stamps, device time, capability table.
"""
