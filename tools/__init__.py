# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What sets the machine up and looks after the sources; `prepare` needs Python's library only."""
