# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Turns the card's interrupt causes into MSI or MSI-X messages to the host."""
