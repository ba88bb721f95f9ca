# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The PCIe hard block of UltraScale+: its pins, its configuration, and its instance."""
