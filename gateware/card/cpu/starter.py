# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Starts the CPU on a good image only, and ends a start that gives no heartbeat.

    held -> checking (CRC-32 of the image) -> running -> checking ... -> given up
                        `-> bad image

The image is checked before each start. It takes ten cycles a word: a CRC
of four bits a cycle has half the logic of one of eight.
"""

from litex.gen import *
from migen import *

from gateware import numbers
from gateware.card.cpu.layout import (
    CRC_RESIDUE,
    IMAGE_MAGIC,
    IMAGE_WORDS,
    LEAST_IMAGE,
    PATIENCE,
    STARTS,
    STATES,
    WORD,
)
from gateware.card.crc import Crc32

# The CPU's clock runs for so many cycles after its reset has changed: that reset is synchronous.
SETTLE = 31

# Bits of an image that are summed in a cycle, and parts of a word.
PART  = 4
PARTS = 8*WORD//PART

class Starter(LiteXModule):
    """Reads the image's words, decides, and watches. Nothing of it is in the CPU's clock domain.

    `hold` keeps the CPU in reset and forgets earlier failures. `patience` is shorter in tests.
    """
    def __init__(self, patience=PATIENCE):
        self.hold      = Signal()   # i
        self.heartbeat = Signal()   # i, a pulse
        self.asleep    = Signal()   # i, the CPU needs no clock.
        self.reset     = Signal(reset=1) # o, of the CPU
        self.clocked   = Signal()   # o, the CPU's clock runs.
        self.busy      = Signal()   # o, device time must run.
        self.state     = Signal(max=max(STATES.values()) + 1) # o
        self.failures  = Signal(max=STARTS + 1)               # o
        self.address   = Signal(max=numbers.CPU_IMAGE_SIZE//WORD) # o, word to read
        self.read      = Signal()   # o, held until `taken`
        self.taken     = Signal()   # i, `data` has the word from the next cycle on.
        self.keep      = Signal()   # o, `data` must stay as it is.
        self.data      = Signal(32) # i

        # # #

        settle = Signal(max=SETTLE + 1, reset=SETTLE)
        awake  = Signal(max=patience + 1)
        self.late     = Signal()
        last_reset    = Signal(reset=1)
        self.comb += [
            self.reset.eq(self.state != STATES["running"]),
            self.clocked.eq((settle != 0) | (~self.reset & ~self.asleep)),
            self.busy.eq(self.clocked | (self.state == STATES["checking"])),
            self.late.eq(awake == patience),
        ]
        self.sync += [
            last_reset.eq(self.reset),
            If(self.reset != last_reset, settle.eq(SETTLE)).Elif(settle != 0,
                settle.eq(settle - 1)),
            # Time asleep does not count: the CPU may wait for an event for ever.
            If(self.reset | self.heartbeat, awake.eq(0)).Elif(~self.asleep, awake.eq(awake + 1)),
        ]
        self.add_check()

    def add_check(self):
        """Adds the states, with the check of the image's header and CRC."""
        self.crc      = crc = Crc32(PART)
        self.fsm      = fsm = FSM(reset_state="HELD")
        word          = self.address
        length        = Signal(max=numbers.CPU_IMAGE_SIZE + 1)
        part, good    = Signal(max=PARTS), Signal()
        end           = Signal()
        size          = self.data
        self.comb += [
            Case(part, {n: crc.data.eq(self.data[PART*n:PART*(n + 1)]) for n in range(PARTS)}),
            Case(word, {
                IMAGE_WORDS["magic"]: good.eq(self.data == IMAGE_MAGIC),
                IMAGE_WORDS["bytes"]: good.eq((size >= LEAST_IMAGE)
                    & (size <= numbers.CPU_IMAGE_SIZE) & (size[:log2_int(WORD)] == 0)),
                "default":            good.eq(1),
            }),
        ]
        # A word is summed for several cycles, so its place may be compared one cycle late.
        self.sync += end.eq((word + 1 == length[log2_int(WORD):]) & (word > IMAGE_WORDS["bytes"]))
        fsm.act("HELD",
            self.state.eq(STATES["held"]),
            NextValue(self.failures, 0),
            If(~self.hold, NextState("BEGIN")),
        )
        fsm.act("BEGIN",
            self.state.eq(STATES["checking"]),
            crc.clear.eq(1),
            NextValue(word, 0),
            NextState("READ"),
        )
        fsm.act("READ",
            self.state.eq(STATES["checking"]),
            self.read.eq(1),
            If(self.taken, NextState("TAKE")),
        )
        fsm.act("TAKE",
            self.state.eq(STATES["checking"]),
            self.keep.eq(1),
            NextValue(part, 0),
            If(word == IMAGE_WORDS["bytes"], NextValue(length, size)),
            If(good, NextState("SUM")).Else(NextState("BAD-IMAGE")),
        )
        fsm.act("SUM",
            self.state.eq(STATES["checking"]),
            crc.valid.eq(1),
            self.keep.eq(1),
            NextValue(part, part + 1),
            If(part == PARTS - 1,
                NextValue(word, word + 1),
                If(end, NextState("DECIDE")).Else(NextState("READ")),
            ),
        )
        fsm.act("DECIDE",
            self.state.eq(STATES["checking"]),
            If(crc.crc == CRC_RESIDUE, NextState("RUNNING")).Else(NextState("BAD-IMAGE")),
        )
        fsm.act("RUNNING",
            self.state.eq(STATES["running"]),
            If(self.heartbeat, NextValue(self.failures, 0)),
            If(self.late,
                NextValue(self.failures, self.failures + 1),
                If(self.failures == STARTS - 1, NextState("GIVEN-UP")).Else(NextState("BEGIN")),
            ),
            If(self.hold, NextState("HELD")),
        )
        for name in ("BAD-IMAGE", "GIVEN-UP"):
            fsm.act(name,
                self.state.eq(STATES[name.lower().replace("-", "_")]),
                If(self.hold, NextState("HELD")),
            )
