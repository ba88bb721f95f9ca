# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Measures the highest rates that the model of the hard block allows.

Ideal user logic stands in place of a gateware, and the host is ideal, too.
"""
