# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The model without a gateware, between ideal users and an ideal host: its highest rates."""
