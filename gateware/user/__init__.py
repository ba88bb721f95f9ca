# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The user slot, in which a user's own logic sits between h2c and c2h, and blocks that fit it."""
