# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""What several stages of the gateware share: the types of streams and ports, and BAR windows."""
