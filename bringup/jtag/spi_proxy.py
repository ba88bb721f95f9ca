# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Define a design that is loaded over JTAG to write the configuration flash.

The design has the protocol of OpenOCD's `jtagspi` driver. One scan of the JTAG register USER1 is
one SPI transfer (mode 0). The scan shifts in

    a bit 1; 32 bits with the transfer's number of bits less one, highest first; then these bits

Zeros may come before the 1: other parts on the chain add such bits. SCK is TCK, MOSI is TDI, and
TDO is MISO. TDO has a register, so the flash's answer comes one bit late. A scan that ends early
ends the transfer. Bits that are shifted behind a transfer are ignored.
"""

from litex.gen import *
from migen import *

from bringup.jtag.user_register import UserRegister
from gateware.card.startup import FlashPins

LENGTH_BITS = 32

# The period of TCK for the vendor's tool: 33 ns (30 MHz), which is faster than JTAG cables are.
CONSTRAINTS = "create_clock -name tck -period 33.000 [get_pins BSCANE2/TCK]\n"


class SpiProxy(LiteXModule):
    """Connect a JTAG register to the pins of an SPI flash: one scan of the register is one SPI
    transfer.
    """
    def __init__(self, register):
        self.cs_n = Signal(reset=1) # o
        self.sck  = Signal()        # o
        self.mosi = Signal()        # o
        self.miso = Signal()        # i

        # # #

        head     = Signal(max=LENGTH_BITS)
        left     = Signal(LENGTH_BITS)
        transfer = Signal()
        self.fsm = fsm = ClockDomainsRenamer("tck")(ResetInserter()(FSM(reset_state="WAIT-ONE")))
        self.comb += fsm.reset.eq(register.capture)
        fsm.act("WAIT-ONE",
            If(register.shift & register.tdi,
                NextValue(head, LENGTH_BITS - 1),
                NextState("TAKE-LENGTH")
            )
        )
        fsm.act("TAKE-LENGTH",
            NextValue(left, Cat(register.tdi, left)),
            NextValue(head, head - 1),
            If(~register.shift,
                NextState("END")
            ).Elif(head == 0,
                NextState("TRANSFER")
            )
        )
        fsm.act("TRANSFER",
            transfer.eq(1),
            NextValue(left, left - 1),
            If(~register.shift | (left == 0), NextState("END"))
        )
        # The SPI transfer has ended. The proxy ignores all further bits until the next scan resets
        # the FSM.
        fsm.act("END", NextState("END"))

        # `selected`, which enables the flash's CS# and SCK, changes at falling edges of TCK only.
        # So SCK never has a shortened pulse.
        selected = Signal()
        self.specials += Instance("FDRE",
            p_INIT          = 0,
            p_IS_C_INVERTED = 1,
            i_C             = ClockSignal("tck"),
            i_CE            = 1,
            i_R             = 0,
            i_D             = transfer,
            o_Q             = selected,
        )
        self.comb += [
            self.cs_n.eq(~selected),
            self.sck.eq(register.tck & selected),
            self.mosi.eq(register.tdi),
            register.tdo.eq(self.miso),
        ]

class SpiProxyDesign(LiteXModule):
    """The SPI proxy as a top-level design without ports: STARTUPE3 connects it to the configuration
    pins.
    """
    def __init__(self):
        self.register = register = UserRegister(chain=1)
        self.proxy    = proxy    = SpiProxy(register)

        # # #

        self.pins = pins = FlashPins()
        self.comb += [
            pins.cs_n.eq(proxy.cs_n),
            pins.sck.eq(proxy.sck),
            pins.mosi.eq(proxy.mosi),
            proxy.miso.eq(pins.lines[1]),
        ]
