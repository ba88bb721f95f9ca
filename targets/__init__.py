# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tables of the supported boards (pins and FPGA parts), and one script for each board that builds
its gateware and loads it into the card."""
