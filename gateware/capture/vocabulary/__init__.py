# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The words that all parts of the capture block share: sizes, states of queues, and bits."""
