# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The player: pcapng from the h2c stream becomes frames again, for the capture block to record."""
