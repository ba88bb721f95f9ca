# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Everything inside the FPGA: the gateware of Lanebox, as a LiteX SoC around LitePCIe."""
