# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Define the table of the board AS02MC04 of Alibaba Cloud: a KU3P, PCIe Gen3 x8, two SFP28
cages."""

from targets.nets import HIGH, UNKNOWN, Board, Net

LITEX = "litex-boards, alibaba_xcku3p.py"
LEVEL = LITEX + "; taxi has the same pins with LVCMOS33"

NETS = (
    Net("pcie.clk_p", "T7", "",         HIGH, LITEX),
    Net("pcie.clk_n", "T6", "",         HIGH, LITEX),
    Net("pcie.rst_n", "A9", "LVCMOS18", HIGH, LEVEL),

    Net("pcie.rx_p[0-7]", "P2 T2 V2 Y2 AB2 AD2 AE4 AF2",  "", HIGH, LITEX),
    Net("pcie.rx_n[0-7]", "P1 T1 V1 Y1 AB1 AD1 AE3 AF1",  "", HIGH, LITEX),
    Net("pcie.tx_p[0-7]", "R5 U5 W5 AA5 AC5 AD7 AE9 AF7", "", HIGH, LITEX),
    Net("pcie.tx_n[0-7]", "R4 U4 W4 AA4 AC4 AD6 AE8 AF6", "", HIGH, LITEX),

    Net("user_led0", "B11", "LVCMOS18", HIGH, LEVEL),
    Net("user_led1", "C11", "LVCMOS18", HIGH, LEVEL),
    Net("user_led2", "A10", "LVCMOS18", HIGH, LEVEL),
    Net("user_led3", "B10", "LVCMOS18", HIGH, LEVEL),

    Net("flash", "", "", UNKNOWN, "nobody has named its chip", "It is on the configuration pins of "
        "the package; read its JEDEC identification."),
)

BOARD = Board("as02mc04", "AS02MC04", "xcku3p-ffvb676-2-e", (8, 4, 1), 250e6,
    "X0Y0", "GTY_Quad_225", NETS)
