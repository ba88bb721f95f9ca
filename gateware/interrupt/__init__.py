# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Interrupts: the card's interrupt causes become MSI or MSI-X messages to the host."""
