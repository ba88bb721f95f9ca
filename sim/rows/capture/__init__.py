# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The rows `capture/*`: what the capture block does, and what its recordings cost card and host."""
