# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Makes Verilog from LiteX and SpinalHDL sources, once for each state of the sources."""
