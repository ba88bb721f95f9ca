# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Reboot: the part configures itself anew from its flash, by words to ICAPE3 (UG570).

After reset the block reads BOOTSTS once, the part's own history of its configurations.

The part has a watchdog of its own, the register TIMER, whose end leads to the golden image. Two
things use it:

- An application's bitstream arms it for the first minute (tools/vivado). The watchdog needs neither
  PCIe nor this design: while the link is down, the hard block's `user_reset` holds all of it. The
  block disarms it when the link is up and the card's firmware has shown a heartbeat.
- A reboot arms it for the part's search for an image. A part that finds no synchronisation word
  would search for ever, and would then find the one at address 0, which leads to the application
  again.

From a fallback on the watchdog is off, whatever is written to TIMER, until a reboot has started an
image. In a golden image that has come by a fallback nothing ends the search. So software boots only
an application whose synchronisation word is there (software/tools/litepcie_util/card/cmd_reboot.c).
"""

from litex.gen import *
from litex.soc.cores.icap import (
    ICAP_DUMMY,
    ICAP_NOOP,
    ICAP_READ,
    ICAP_SYNC,
    ICAP_WRITE,
    ICAPCMDs,
    ICAPRegisters,
)
from litex.soc.interconnect.csr import *
from migen import *

from gateware import numbers

# Cycles of half a period of ICAPE3's clock. At 250 MHz that clock has 15.6 MHz, far below its
# limit, so the words around its edges need no constraint.
HALF = 8
READ_CLOCKS = 8 # Clocks of ICAPE3 until the value of the register that is read comes out.
# Value of TIMER during a reboot: bit 30 lets it count clocks of CCLK until the part has found the
# header of an image, whose own value then counts. A part reads a bit in each, so it looks at the
# 128 KiB behind the address.
SEARCH = 1 << 30 | 1 << 20

def _packet(operation, register, words=1):
    return operation | register << 13 | words

class Step:
    """The inputs of ICAPE3 for one of its clocks. CSIB is low while it is `selected`, RDWRB is high
    while it `reads`. A `word` of None is the address of the image."""
    def __init__(self, word=ICAP_DUMMY, selected=True, reads=False):
        self.word, self.selected, self.reads = word, selected, reads

SYNCHRONISE = [Step(selected=False), Step(), Step(ICAP_SYNC), Step(ICAP_NOOP)]
DESYNCHRONISE = [
    Step(_packet(ICAP_WRITE, ICAPRegisters.CMD)), Step(ICAPCMDs.DESYNC), Step(ICAP_NOOP),
    Step(ICAP_NOOP), Step(selected=False),
]
READ_BOOTSTS = [
    *SYNCHRONISE,
    Step(_packet(ICAP_READ, ICAPRegisters.BOOTSTS)), Step(ICAP_NOOP), Step(ICAP_NOOP),
    # RDWRB may only change while CSIB is high: otherwise the FPGA aborts the configuration.
    Step(selected=False), Step(selected=False, reads=True),
    *[Step(reads=True)]*READ_CLOCKS,
    Step(selected=False, reads=True), Step(selected=False),
    *DESYNCHRONISE,
]
DISARM = [
    *SYNCHRONISE,
    Step(_packet(ICAP_WRITE, ICAPRegisters.TIMER)), Step(0), Step(ICAP_NOOP),
    *DESYNCHRONISE,
]
REBOOT = [
    *SYNCHRONISE,
    Step(_packet(ICAP_WRITE, ICAPRegisters.TIMER)), Step(SEARCH),
    Step(_packet(ICAP_WRITE, ICAPRegisters.WBSTAR)), Step(None),
    Step(_packet(ICAP_WRITE, ICAPRegisters.CMD)), Step(ICAPCMDs.IPROG),
    Step(ICAP_NOOP), Step(ICAP_NOOP), Step(selected=False),
]
STEPS      = READ_BOOTSTS + DISARM + REBOOT
TAKE       = len(SYNCHRONISE) + 5 + READ_CLOCKS - 1 # BOOTSTS is taken in this step's clock.
LAST_READ  = len(READ_BOOTSTS) - 1
DISARMED   = LAST_READ + len(DISARM) # The last step of DISARM.
FIRST_BOOT = DISARMED + 1

class Reboot(LiteXModule):
    """Boots the image at `address` when `go` is written with FLASH_LAYOUT's `reboot`.

    While `hold` is set, a reboot waits: the part could read nothing from a busy flash, and would
    find no image at all. `link` and `alive` together say that the card is healthy, which disarms
    the part's watchdog."""
    def __init__(self):
        self.hold  = Signal() # i, the flash is busy, so a reboot waits.
        self.link  = Signal(reset=1) # i, the PCIe link is up.
        self.alive = Signal(reset=1) # i, one cycle: the card's firmware works.
        self.busy  = Signal() # o, words are being sent to ICAPE3, so device time must run.

        self._address = CSRStorage(32, description="WBSTAR: address of the image in the flash, "
            "divided by 256. The part may skip up to 255 bytes from there.")
        self._go      = CSRStorage(32,
            description="Writing ``FLASH_LAYOUT['reboot']`` boots the image at ``address``, and "
                "the link goes down. Other values do nothing.")
        self._bootsts = CSRStatus(32, description="BOOTSTS as it was after reset.")

        # # #

        count, step  = Signal(max=2*HALF), Signal(max=len(STEPS))
        running, due = Signal(reset=1), Signal()
        clock, word  = Signal(), Signal(32)
        csib, rdwrb  = Signal(reset=1), Signal()
        found        = Signal(32)
        ends = Signal()
        # The firmware may show its heartbeat before the link is up.
        seen, healthy, disarmed = Signal(), Signal(), Signal()
        self.comb += [
            healthy.eq(seen & self.link & ~disarmed),
            self.busy.eq(running | due | healthy),
            ends.eq((step == LAST_READ) | (step == DISARMED) | (step == len(STEPS) - 1)),
        ]
        self.sync += [
            If(self.alive, seen.eq(1)),
            If(self._go.re & (self._go.storage == numbers.FLASH_LAYOUT["reboot"]), due.eq(1)),
            If(running,
                count.eq(count + 1),
                clock.eq(count >= HALF),
                If(count == 0, *self.show(step, word, csib, rdwrb)),
                If((count == HALF) & (step == TAKE), self._bootsts.status.eq(found)),
                If(count == 2*HALF - 1,
                    step.eq(step + 1),
                    If(ends, running.eq(0)),
                ),
            ).Elif(due & ~self.hold,
                due.eq(0),
                running.eq(1),
                step.eq(FIRST_BOOT),
            ).Elif(healthy,
                # Nothing but the reading of BOOTSTS has run, so `step` is the first of DISARM.
                disarmed.eq(1),
                running.eq(1),
            )
        ]
        data_in, data_out = Signal(32), Signal(32)
        self.comb += [
            data_in.eq(self.mirrored(word)),
            found.eq(self.mirrored(data_out)),
        ]
        self.specials += Instance("ICAPE3",
            i_CLK   = clock,
            i_CSIB  = csib,
            i_RDWRB = rdwrb,
            i_I     = data_in,
            o_O     = data_out,
        )

    def show(self, step, word, csib, rdwrb):
        """Returns the statements that give ICAPE3's inputs the values of step number `step`."""
        words = {n: word.eq(self._address.storage if s.word is None else s.word)
            for n, s in enumerate(STEPS)}
        cases = {n: [words[n], csib.eq(not s.selected), rdwrb.eq(s.reads)]
            for n, s in enumerate(STEPS)}
        return [Case(step, cases)]

    @staticmethod
    def mirrored(word):
        """Returns a word with the bits of each byte in reverse order, as ICAPE3 has them."""
        return Cat(*[word[8*byte + 7 - bit] for byte in range(4) for bit in range(8)])
