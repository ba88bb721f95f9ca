# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The queues of a capture: rules and a hash of addresses choose the ring of each frame."""
