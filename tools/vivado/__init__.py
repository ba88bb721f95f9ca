# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Runs Vivado: sets the properties of its PCIe core, places and routes."""
