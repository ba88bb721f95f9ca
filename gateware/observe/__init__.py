# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""What the card tells of itself: counters, stamps, device time, the capability table."""
