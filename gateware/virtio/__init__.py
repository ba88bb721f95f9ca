# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""VirtIO devices: the host's own class drivers drive them through pages of registers in BAR0."""
