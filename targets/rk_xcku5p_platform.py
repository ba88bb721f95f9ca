# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Define the table of the board RK-XCKU5P-F V1.2: a KU5P with PCIe Gen3 x4 on an x8 edge.

The board's schematic is public."""

from targets.nets import HIGH, Board, Net

LITEX = "litex-boards, aliexpress_rk_xcku5p.py; schematic in tommythorn/rk-xcku5p-f-v1.2"

NETS = (
    Net("pcie.clk_p", "AB7", "",         HIGH, LITEX),
    Net("pcie.clk_n", "AB6", "",         HIGH, LITEX),
    Net("pcie.rst_n", "T19", "LVCMOS12", HIGH, LITEX),

    Net("pcie.rx_p[0-3]", "AB2 AD2 AE4 AF2", "", HIGH, LITEX),
    Net("pcie.rx_n[0-3]", "AB1 AD1 AE3 AF1", "", HIGH, LITEX),
    Net("pcie.tx_p[0-3]", "AC5 AD7 AE9 AF7", "", HIGH, LITEX),
    Net("pcie.tx_n[0-3]", "AC4 AD6 AE8 AF6", "", HIGH, LITEX),

    Net("user_led0", "H9",  "LVCMOS33", HIGH, LITEX),
    Net("user_led1", "J9",  "LVCMOS33", HIGH, LITEX),
    Net("user_led2", "G11", "LVCMOS33", HIGH, LITEX),
    Net("user_led3", "H11", "LVCMOS33", HIGH, LITEX),

    Net("flash", "", "", HIGH, LITEX, "An MX25U51245G on the configuration pins of the package, "
        "which a design reaches through STARTUPE3.", fabric=False),
)

# The PCIe core of a x4 link has 256 bits at 125 MHz, half the clock of a x8 link.
BOARD = Board("rk_xcku5p", "RK-XCKU5P-F", "xcku5p-ffvb676-2-i", (4, 1), 125e6,
    "X0Y0", "GTY_Quad_224", NETS)
