# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Define the table of the red KU5P card from AliExpress ("PCIE 3.0 X8", "V1 2023-12"), PCIe Gen3
x8.

No schematic is public. The nets come from a design that worked at x1, from the designs of an owner
of the same card (who calls it XCKU5P_DUAL_QSFP), from the package, and from boards whose known pins
agree. Seen from behind the PC, cage B is next to the PCIe connector, and cage A is beyond it."""

from targets.nets import CAGE_SIGNALS, HIGH, INFERRED, REPORTED, UNKNOWN, Board, Net

WORKED  = "worked at x1 in Basher4/xilinx-pcie-basics, pins.xdc"
PACKAGE = "package of the part"
ALIKE   = "Nexus K3P-Q and AS02MC04, whose known PCIe pins are these"
CHANNEL = "package: the transmitter of lane 0's transceiver; " + WORKED

# The repository of a person who owns the same card: Chester-Gillon/fpga_sio at commit 62ee167 of
# 2026-08-17. The constraints are in XCKU5P_DUAL_QSFP/constraints. IBERT and MONITOR stand for files
# fpga_tests/XCKU5P_DUAL_QSFP_*/readme.txt.
OWNER   = "fpga_sio@62ee167, "
LANES   = OWNER + "pcie.xdc"
CAGES   = OWNER + "qsfp_control_signals.xdc"
CLOCK   = OWNER + "clk_100mhz.xdc"
IBERT   = OWNER + "ibert_4.166"
MONITOR = OWNER + "input_monitor"

PROBE    = "targets/README.md says how to report pins."
LEVEL33  = "LVCMOS33"
SIDEBAND = "Pulled up on the card."

def cage(name, modsel, reset, scl, sda, modprs, int, lpmode, scl_advice=""):
    """Return the nets of one QSFP cage's low-speed control signals, with the names of SFF-8679."""
    pins = zip(CAGE_SIGNALS, (modsel, reset, scl, sda, modprs, int, lpmode))
    return tuple(Net(f"qsfp_{name}.{signal}", pin, LEVEL33, REPORTED, CAGES,
        " ".join([SIDEBAND, scl_advice]).strip() if signal == "scl" else SIDEBAND)
        for signal, pin in pins)

NETS = (
    Net("pcie.clk_p", "V7",  "",         HIGH, WORKED),
    Net("pcie.clk_n", "V6",  "",         HIGH, PACKAGE + ", the other half of V7"),
    Net("pcie.rst_n", "T19", "LVCMOS18", HIGH, WORKED),

    Net("pcie.rx_p[0]",   "P2", "", HIGH, WORKED),
    Net("pcie.rx_n[0]",   "P1", "", HIGH, PACKAGE + ", the other half of P2"),
    Net("pcie.tx_p[0]",   "R5", "", HIGH, CHANNEL),
    Net("pcie.tx_n[0]",   "R4", "", HIGH, CHANNEL),
    Net("pcie.rx_p[1-7]", "T2 V2 Y2 AB2 AD2 AE4 AF2", "", REPORTED, LANES, "The owner's designs "
        "are Gen3 x8; the width that the link trained to is not stated."),
    Net("pcie.rx_n[1-7]", "T1 V1 Y1 AB1 AD1 AE3 AF1", "", REPORTED,
        PACKAGE + ", the other halves; " + ALIKE),
    Net("pcie.tx_p[1-7]", "U5 W5 AA5 AC5 AD7 AE9 AF7", "", REPORTED,
        PACKAGE + ", the transmitters of the same transceivers; " + ALIKE),
    Net("pcie.tx_n[1-7]", "U4 W4 AA4 AC4 AD6 AE8 AF6", "", REPORTED,
        PACKAGE + ", the transmitters of the same transceivers; " + ALIKE),

    Net("user_led0", "E26", "LVCMOS18 DRIVE=2", HIGH, WORKED + "; " + CAGES, "It lights at 0 and "
        "is the LED of cage B, says the second source."),
    Net("user_led1", "", "", UNKNOWN, "two sources that contradict each other", "Beside E26, the "
        "first source (pins.xdc of Basher4/xilinx-pcie-basics) has an LED at D26, the second "
        "(qsfp_control_signals.xdc) at D25, for cage A. A look at the card with one of them "
        "driven decides it. " + PROBE),
    Net("more LEDs and the button", "", "", UNKNOWN, "photograph", "About six LEDs and a button "
        "are seen; the neighbours of E26 in bank 66 are the first candidates. " + PROBE),

    Net("clk100", "K22", "LVCMOS18", REPORTED, CLOCK, "100 MHz, "
        "single-ended. This gateware does without it: it runs on the core's user clock."),

    Net("qsfp.quads", "", "", UNKNOWN, IBERT, "Both cages are on quads 226 and 227: "
        "the owner's test found 8 links through one cable from cage to cage. Which cage is on "
        "which quad, and the order of lanes, is not stated. " + PROBE),
    Net("qsfp.refclk_p", "H7", "", REPORTED, IBERT, "156.25 MHz, fixed: "
        "MGTREFCLK1 of quad 227, which clocks quad 226, too. K7/K6 is constrained to the same "
        "period there, but not said to be used."),
    Net("qsfp.refclk_n", "H6", "", REPORTED, PACKAGE + ", the other half of H7"),
    *cage("a", modsel="AF14", reset="AE15", scl="B14", sda="A14", modprs="C14", int="AD15",
        lpmode="AF15"),
    *cage("b", modsel="B9", reset="A10", scl="B11", sda="B12", modprs="A13", int="A12",
        lpmode="A9", scl_advice="The vendor's sheet says B10, where no module answers."),

    Net("eeprom.scl", "AC14", LEVEL33, INFERRED, MONITOR, "An AT24C04, by the vendor's sheet and "
        "the pull-up resistor; nobody has said that it answers."),
    Net("eeprom.sda", "AD14", LEVEL33, INFERRED, MONITOR, "As its clock."),
    Net("driven from outside", "", "", UNKNOWN, MONITOR, "AC13, AD13, AE13 and AF13 are held high "
        "and Y16 and J11 low, against a pull in either direction; what holds them is not known. "
        + PROBE),

    Net("flash", "Y11 AD11 AC12 AC11 AE11 AA12", "", HIGH, PACKAGE, "CCLK, D00 to D03 and FCS_B "
        "belong to the configuration; a design reaches them through STARTUPE3. An owner has an "
        "MT25QU256 (32 MiB, 1.8 V) there and configures by four data lines with 32-bit addresses "
        "on the falling edge at 56.7 MHz (" + OWNER + "qaudspi.xdc).", fabric=False),
    Net("jtag", "AE12 AB12 Y10 AB10", "", HIGH, PACKAGE, "TCK, TDI, TDO and TMS belong to the "
        "configuration; a design reaches them through BSCANE2.", fabric=False),
)

BOARD = Board("ku5p", "KU5P card", "xcku5p-ffvb676-2-i", (8, 4, 1), 250e6,
    "X0Y0", "GTY_Quad_225", NETS)
