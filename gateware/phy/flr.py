# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Function level reset: from the hard block's request to its acknowledgement (PG213, "cfg_flr")."""

from litex.gen import *
from litex.gen.genlib.misc import WaitTimer
from migen import *

from gateware.numbers import COMPLETION_TIMEOUT, SYS_CLK_FREQ

# The longest time that a function level reset waits for outstanding reads: 40 ms. A read without an
# answer ends after 25 ms at the latest (LONGEST_READ), so normally `idle` ends the wait. This limit
# ends it if software has set a read timeout of more than 32 ms, or if a TLP is stuck half sent. The
# base specification gives the reset 100 ms in all (6.6.2).
#
# The tag of a lost read rests for longer, up to three timeouts (60 ms). The reset does not wait for
# that: the host leaves the function alone for the whole 100 ms.
DRAIN_SECONDS = 2*COMPLETION_TIMEOUT
RESET_CYCLES  = 16


class FunctionLevelReset(LiteXModule):
    """Carries out a function level reset: it stops the card at a TLP boundary, waits for
    outstanding reads, resets all logic, and acknowledges the reset.

    If an answer to a read arrived after the reset, it could be taken for the answer to a later
    read. So the card waits for all answers before it resets its logic. The wait ends after
    `drain_seconds` at the latest, because the host waits for 100 ms at most."""
    def __init__(self, clock=SYS_CLK_FREQ, drain_seconds=DRAIN_SECONDS):
        self.in_process = Signal() # i, the hard block asks for a reset (cfg_flr_in_process).
        # i, no TLP of the card is half sent, and no read of host memory is outstanding.
        self.idle       = Signal()
        self.stop       = Signal() # o, the card may begin no TLP.
        self.reset      = Signal() # o, all logic of the card is held in reset.
        self.done       = Signal() # o, one cycle: the reset is acknowledged (cfg_flr_done).
        self.busy       = Signal() # o, a reset is under way, so device time must run.

        # # #

        self.drain_cycles = int(drain_seconds*clock)
        self.drain = drain = WaitTimer(self.drain_cycles)
        self.hold  = hold  = WaitTimer(RESET_CYCLES)
        self.fsm   = fsm   = FSM(reset_state="RUN")
        fsm.act("RUN",
            If(self.in_process, NextState("DRAIN"))
        )
        fsm.act("DRAIN",
            self.stop.eq(1),
            drain.wait.eq(1),
            If(self.idle | drain.done, NextState("RESET"))
        )
        fsm.act("RESET",
            self.stop.eq(1),
            self.reset.eq(1),
            hold.wait.eq(1),
            If(hold.done,
                self.done.eq(1),
                NextState("ACKNOWLEDGED")
            )
        )
        # The hard block withdraws its request some cycles after the acknowledgement.
        fsm.act("ACKNOWLEDGED",
            If(~self.in_process, NextState("RUN"))
        )
        self.comb += self.busy.eq(~fsm.ongoing("RUN"))
