# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The capture block: frames become a recording in pcapng, in a ring of segments in host memory."""
