# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Designs that a part gets over JTAG for one job: to find pins, or to reach the flash."""
