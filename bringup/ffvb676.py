# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Table of the package FFVB676 of xcku5p: the bank of each pin, and the transceivers' pins.

Source: Vivado's report_io for this part (2023.1), published in tommythorn/rk-xcku5p-f-v1.2.
"""

# Ordinary I/O pins by the number of their bank. Banks 64 to 67 are high performance (1.8 V at
# most), banks 84 to 87 high density.
BANKS = {
    64: (
        "Y17 Y18 Y20 Y21 AA17 AA18 AA19 AA20 AA22 AB17 AB19 AB20 AB21 AB22 AB24 AB25 AB26 AC16 "
        "AC17 AC18 AC19 AC21 AC22 AC23 AC24 AC26 AD16 AD18 AD19 AD20 AD21 AD23 AD24 AD25 AD26 "
        "AE16 AE17 AE18 AE20 AE21 AE22 AE23 AE25 AE26 AF17 AF18 AF19 AF20 AF22 AF23 AF24 AF25"
    ),
    65: (
        "N19 N21 N22 N23 N24 N26 P19 P20 P21 P23 P24 P25 P26 R20 R21 R22 R23 R25 R26 T19 T20 T22 "
        "T23 T24 T25 U19 U20 U21 U22 U24 U25 U26 V19 V21 V22 V23 V24 V26 W19 W20 W21 W23 W24 W25 "
        "W26 Y22 Y23 Y25 Y26 AA23 AA24 AA25"
    ),
    66: (
        "B25 B26 C24 C26 D23 D24 D25 D26 E23 E25 E26 F22 F23 F24 F25 G22 G24 G25 G26 H21 H22 H23 "
        "H24 H26 J19 J20 J21 J23 J24 J25 J26 K18 K20 K21 K22 K23 K25 K26 L18 L19 L20 L22 L23 L24 "
        "L25 M19 M20 M21 M22 M24 M25 M26"
    ),
    67: (
        "A15 A17 A18 A19 A20 A22 A23 A24 A25 B15 B16 B17 B19 B20 B21 B22 B24 C16 C17 C18 C19 C21 "
        "C22 C23 D15 D16 D18 D19 D20 D21 E15 E16 E17 E18 E20 E21 E22 F15 F17 F18 F19 F20 G15 G16 "
        "G17 G19 G20 G21 H16 H17 H18 H19"
    ),
    84: (
        "W12 W13 W14 W15 W16 Y13 Y15 Y16 AA13 AA14 AA15 AB14 AB15 AB16 AC13 AC14 AD13 AD14 AD15 "
        "AE13 AE15 AF13 AF14 AF15"
    ),
    86: (
        "A9 A10 B9 B10 B11 C9 C11 D9 D10 D11 E10 E11 F9 F10 G9 G10 G11 H9 H11 J9 J10 J11 K9 K10"
    ),
    87: (
        "A12 A13 A14 B12 B14 C12 C13 C14 D13 D14 E12 E13 F12 F13 F14 G12 G14 H12 H13 H14 J12 J13 "
        "J14 J15"
    ),
}

HIGH_DENSITY = (84, 86, 87)

# Pins of the transceivers by the number of their quad. In each list, lane 0 or reference clock 0
# comes first.
QUADS = {
    224: {"rx_p": "AF2 AE4 AD2 AB2", "rx_n": "AF1 AE3 AD1 AB1",
          "tx_p": "AF7 AE9 AD7 AC5", "tx_n": "AF6 AE8 AD6 AC4",
          "clk_p": "AB7 Y7", "clk_n": "AB6 Y6"},
    225: {"rx_p": "Y2 V2 T2 P2", "rx_n": "Y1 V1 T1 P1",
          "tx_p": "AA5 W5 U5 R5", "tx_n": "AA4 W4 U4 R4",
          "clk_p": "V7 T7", "clk_n": "V6 T6"},
    226: {"rx_p": "M2 K2 H2 F2", "rx_n": "M1 K1 H1 F1",
          "tx_p": "N5 L5 J5 G5", "tx_n": "N4 L4 J4 G4",
          "clk_p": "P7 M7", "clk_n": "P6 M6"},
    227: {"rx_p": "D2 C4 B2 A4", "rx_n": "D1 C3 B1 A3",
          "tx_p": "F7 E5 D7 B7", "tx_n": "F6 E4 D6 B6",
          "clk_p": "K7 H7", "clk_n": "K6 H6"},
}
