# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The Lanebox endpoint: completer and requester together, as LitePCIe's core sees them."""
