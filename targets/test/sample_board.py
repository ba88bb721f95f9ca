# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A board that does not exist, with a net of every kind. No real board's pins can break its tests.

The pins of its lanes are R0 to R3 (rx_p), R4 to R7 (rx_n), S0 to S3 (tx_p) and S4 to S7 (tx_n).
"""

from targets.nets import HIGH, INFERRED, REPORTED, UNKNOWN, Board, Net

NETS = (
    Net("pcie.clk_p", "C1", "", HIGH, "a design"),
    Net("pcie.clk_n", "C2", "", HIGH, "a design"),
    Net("pcie.rst_n", "C3", "LVCMOS18", HIGH, "a design"),
    Net("pcie.rx_p[0]", "R0", "", HIGH, "a design"),
    Net("pcie.rx_p[1-3]", "R1 R2 R3", "", REPORTED, "an owner"),
    Net("pcie.rx_n[0-3]", "R4 R5 R6 R7", "", HIGH, "a design"),
    Net("pcie.tx_p[0-3]", "S0 S1 S2 S3", "", HIGH, "a design"),
    Net("pcie.tx_n[0-3]", "S4 S5 S6 S7", "", HIGH, "a design"),
    Net("user_led0", "L0", "LVCMOS12 DRIVE=2 SLEW=SLOW", HIGH, "a design"),
    Net("user_led1", "L1", "LVCMOS12", INFERRED, "its neighbour"),
    Net("user_led2", "", "", UNKNOWN, "a photograph", "It is green: look for it."),
    Net("user_led3", "L3", "", HIGH, "the package", "It shows DONE.", fabric=False),
    Net("clk100", "K1", "LVCMOS18", REPORTED, "an owner"),
)

BOARD = Board(
    "sample", "Sample card", "xcku5p-ffvb676-2-i", (4, 1), 125e6, "X0Y0", "GTY_Quad_225", NETS
)
