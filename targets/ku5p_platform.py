# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The board: the red KU5P card from AliExpress ("PCIE 3.0 X8", "V1 2023-12"), PCIe Gen3 x8.

No schematic is public. What is known stands in one design that worked at x1, in the package, and
in boards whose known pins agree with it.
"""

from nets import HIGH, INFERRED, UNKNOWN, Board, Net

WORKED  = "worked at x1 in Basher4/xilinx-pcie-basics, pins.xdc"
PACKAGE = "package of the part"
ALIKE   = "Nexus K3P-Q and AS02MC04, whose known PCIe pins are these"
CHANNEL = "package: the transmitter of lane 0's transceiver; " + WORKED

PROBE = "targets/README.md says how to report pins."

NETS = (
    Net("pcie.clk_p", "V7",  "",         HIGH, WORKED),
    Net("pcie.clk_n", "V6",  "",         HIGH, PACKAGE + ", the other half of V7"),
    Net("pcie.rst_n", "T19", "LVCMOS18", HIGH, WORKED),

    Net("pcie.rx_p[0]",   "P2", "", HIGH, WORKED),
    Net("pcie.rx_n[0]",   "P1", "", HIGH, PACKAGE + ", the other half of P2"),
    Net("pcie.tx_p[0]",   "R5", "", HIGH, CHANNEL),
    Net("pcie.tx_n[0]",   "R4", "", HIGH, CHANNEL),
    Net("pcie.rx_p[1-7]", "T2 V2 Y2 AB2 AD2 AE4 AF2", "", INFERRED, ALIKE),
    Net("pcie.rx_n[1-7]", "T1 V1 Y1 AB1 AD1 AE3 AF1", "", INFERRED, ALIKE),
    Net("pcie.tx_p[1-7]", "U5 W5 AA5 AC5 AD7 AE9 AF7", "", INFERRED, ALIKE),
    Net("pcie.tx_n[1-7]", "U4 W4 AA4 AC4 AD6 AE8 AF6", "", INFERRED, ALIKE),

    Net("user_led0", "E26", "LVCMOS18 DRIVE=2", HIGH, WORKED),
    Net("user_led1", "D26", "LVCMOS18 DRIVE=2", HIGH, WORKED),
    Net("more LEDs and the button", "", "", UNKNOWN, "photograph", "About six LEDs and a button "
        "are seen; the neighbours of E26 and D26 in bank 66 are the first candidates. " + PROBE),

    Net("system clock", "", "", UNKNOWN, "nobody has named one", "Use the core's user clock, which "
        "the whole gateware runs on, or the configuration clock of STARTUPE3, about 50 MHz. "
        + PROBE),

    Net("qsfp.quads", "", "", UNKNOWN, PACKAGE, "The 16 transceivers less PCIe's 8 are quads 226 "
        "and 227; which cage is on which, and the order of lanes, nobody has said. " + PROBE),
    Net("qsfp.refclk", "", "", UNKNOWN, PACKAGE, "P7/P6 and M7/M6 (quad 226), K7/K6 and H7/H6 "
        "(quad 227) are the candidates; which is populated, and at what frequency, is not known. "
        + PROBE),
    Net("qsfp.sidebands", "", "", UNKNOWN, "nobody has named them", "I2C, ModPrsL, ResetL, LPMode "
        "and IntL of both cages. The pins of the Nexus K3P-Q do not apply: it has memory where "
        "this card has an LED. " + PROBE),

    Net("flash", "Y11 AD11 AC12 AC11 AE11 AA12", "", HIGH, PACKAGE, "CCLK, D00 to D03 and FCS_B "
        "belong to the configuration; a design reaches them through STARTUPE3. Type and size of "
        "the chip are not known: read its JEDEC identification.", fabric=False),
    Net("jtag", "AE12 AB12 Y10 AB10", "", HIGH, PACKAGE, "TCK, TDI, TDO and TMS belong to the "
        "configuration; a design reaches them through BSCANE2.", fabric=False),
)

BOARD = Board("ku5p", "KU5P card", "xcku5p-ffvb676-2-i", (8, 4, 1), 250e6,
    "X0Y0", "GTY_Quad_225", NETS)
