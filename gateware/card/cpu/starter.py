# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Starts the CPU on a good image only, and ends a start that gives no heartbeat.

    held -> checking (CRC-32 of the image) -> running -> checking ... -> given up
                        `-> bad image

The image is checked before each start, two bits in a cycle and 18 cycles a word. Four bits in a
cycle would take more logic, and the check of a full image takes no more than 0.15 ms."""

from litex.gen import *
from migen import *

from gateware import numbers
from gateware.card.cpu.layout import (
    CRC_RESIDUE,
    IMAGE_WORDS,
    LEAST_IMAGE,
    PATIENCE,
    STARTS,
    STATES,
    WORD,
)
from gateware.vocabulary.crc import Crc32

# The CPU's reset is synchronous, so its clock runs for this many cycles after each change of it.
SETTLE = 31

# Bits of an image that the CRC takes in a cycle, and the number of such parts in a word.
PART  = 2
PARTS = 8*WORD//PART

class Starter(LiteXModule):
    """Reads and checks the image, starts the CPU, and waits for its heartbeat, in the domain `sys`.

    `hold` keeps the CPU in reset and forgets earlier failures. It ends a check, too: an image that
    changes under its check must be checked from its beginning. `patience` is a power of two, and
    is shorter in tests."""
    def __init__(self, patience=PATIENCE):
        self.hold      = Signal()   # i, the host holds the CPU in reset.
        self.heartbeat = Signal()   # i, one cycle: the firmware says that it works.
        self.asleep    = Signal()   # i, the CPU needs no clock.
        self.reset     = Signal(reset=1) # o, reset of the CPU
        self.clocked   = Signal()   # o, the CPU's clock runs.
        self.busy      = Signal()   # o, the CPU runs or is being started: device time must run.
        self.state     = Signal(max=max(STATES.values()) + 1) # o
        self.failures  = Signal(max=STARTS + 1)               # o
        # o, number of the word to read from the memory. BEGIN clears it, the card's reset need not.
        self.address   = Signal(max=numbers.CPU_IMAGE_SIZE//WORD + 1, reset_less=True)
        self.read      = Signal()   # o, a read of the memory, held until `taken`
        self.taken     = Signal()   # i, `data` has the word from the next cycle on.
        self.keep      = Signal()   # o, the word in `data` is still needed.
        self.data      = Signal(32) # i, the word that was read

        # # #

        settle = Signal(max=SETTLE + 1, reset=SETTLE)
        awake  = Signal(max=patience + 1)
        self.late     = Signal()
        last_reset    = Signal(reset=1)
        self.comb += [
            self.reset.eq(self.state != STATES["running"]),
            self.clocked.eq((settle != 0) | (~self.reset & ~self.asleep)),
            self.busy.eq(self.clocked | (self.state == STATES["checking"])),
            self.late.eq(awake[log2_int(patience)]),
        ]
        self.sync += [
            last_reset.eq(self.reset),
            If(self.reset != last_reset, settle.eq(SETTLE)).Elif(settle != 0,
                settle.eq(settle - 1)),
            # The time in which the CPU sleeps does not count: it may wait for an event for ever.
            If(self.reset | self.heartbeat, awake.eq(0)).Elif(~self.asleep, awake.eq(awake + 1)),
        ]
        self.add_check()

    def add_check(self):
        """Adds the states, with the check of the image's size and CRC. The CRC covers the header's
        other words, so the gates do not compare them."""
        self.crc      = crc = Crc32(PART, reset_less=True)
        self.fsm      = fsm = ResetInserter()(FSM(reset_state="HELD"))
        word          = self.address
        length        = Signal(len(word), reset_less=True) # Number of words of the image.
        part, good    = Signal(max=PARTS), Signal()
        size          = self.data
        self.comb += [
            # The reset clears the failures as well, and needs no logic in the states.
            fsm.reset.eq(self.hold),
            Case(part, {n: crc.data.eq(self.data[PART*n:PART*(n + 1)]) for n in range(PARTS)}),
            good.eq((size >= LEAST_IMAGE) & (size <= numbers.CPU_IMAGE_SIZE)
                & (size[:log2_int(WORD)] == 0)),
        ]
        fsm.act("HELD",
            self.state.eq(STATES["held"]),
            NextState("BEGIN"),
        )
        fsm.act("BEGIN",
            self.state.eq(STATES["checking"]),
            crc.clear.eq(1),
            NextValue(word, 0),
            # This limit is above the words of any image, so the check cannot end before the size's
            # word was read.
            NextValue(length, 2**len(length) - 1),
            NextState("READ"),
        )
        fsm.act("READ",
            self.state.eq(STATES["checking"]),
            self.read.eq(word != length),
            If(word == length, NextState("DECIDE")).Elif(self.taken, NextState("TAKE")),
        )
        fsm.act("TAKE",
            self.state.eq(STATES["checking"]),
            self.keep.eq(1),
            NextValue(part, 0),
            NextState("SUM"),
            If(word == IMAGE_WORDS["bytes"],
                NextValue(length, size[log2_int(WORD):]),
                If(~good, NextState("BAD-IMAGE")),
            ),
        )
        fsm.act("SUM",
            self.state.eq(STATES["checking"]),
            crc.valid.eq(1),
            self.keep.eq(1),
            NextValue(part, part + 1),
            If(part == PARTS - 1,
                NextValue(word, word + 1),
                NextState("READ"),
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
        )
        for name in ("BAD-IMAGE", "GIVEN-UP"):
            fsm.act(name, self.state.eq(STATES[name.lower().replace("-", "_")]))
