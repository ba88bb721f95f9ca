# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""One MSI at a time through the hard block's interrupt pins (PG213, "MSI Mode")."""

from litepcie.common import msi_layout
from litex.gen import *
from litex.soc.interconnect import stream
from migen import *


class MsiSender(LiteXModule):
    """Sends a message for each element of `sink`, all as vector 0.

    The block answers a pulse with `sent` or `fail`. A message that failed is sent again as long as
    MSI is enabled. A message that comes while MSI is disabled waits. So none is lost.
    """
    def __init__(self):
        self.sink   = stream.Endpoint(msi_layout()) # i
        self.enable = Signal()                      # i
        self.sent   = Signal()                      # i
        self.fail   = Signal()                      # i
        self.pulse  = Signal()                      # o, cfg_interrupt_msi_int[0].
        self.busy   = Signal()                      # o, a message is on its way.

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
