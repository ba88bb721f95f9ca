# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Programs that talk to a running board: a vfio-user client, and the examples' client programs."""
