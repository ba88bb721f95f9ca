# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Sends MSI messages through the hard block's interrupt pins, one at a time (PG213, "MSI Mode")."""

from litepcie.common import msi_layout
from litex.gen import *
from litex.soc.interconnect import stream
from migen import *


class MsiSender(LiteXModule):
    """Sends an MSI message for each element of `sink`. All messages are vector 0.

    The hard block answers each pulse on `pulse` with `sent` or `fail`. A message that failed is
    sent again as long as MSI is enabled. A message that comes while MSI is disabled waits at
    `sink`. So no message is lost."""
    def __init__(self):
        self.sink   = stream.Endpoint(msi_layout()) # i
        self.enable = Signal()                      # i, the host has enabled MSI.
        self.sent   = Signal() # i, pin cfg_interrupt_msi_sent of the hard block.
        self.fail   = Signal() # i, pin cfg_interrupt_msi_fail of the hard block.
        self.pulse  = Signal() # o, pin cfg_interrupt_msi_int[0] of the hard block.
        # o, an MSI message is on its way to the link, or begins in this cycle.
        self.busy   = Signal()

        # # #

        self.fsm = fsm = FSM(reset_state="IDLE")
        fsm.act("IDLE",
            If(self.sink.valid & self.enable,
                self.pulse.eq(1),
                NextState("SENDING")
            )
        )
        fsm.act("SENDING",
            If(self.sent,
                self.sink.ready.eq(1),
                NextState("IDLE")
            ).Elif(self.fail,
                NextState("IDLE")
            )
        )
        self.comb += self.busy.eq((self.sink.valid & self.enable) | fsm.ongoing("SENDING"))
