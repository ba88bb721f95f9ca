# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Helpers for the tests of several folders: seeds, fixtures, models of streams and of registers."""
