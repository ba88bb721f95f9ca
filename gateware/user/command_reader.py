# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Logic for the user slot that reads host memory by commands, as fast as it can. The benchmark row
`slot.commands` measures with it how fast commands are carried out.

Read n begins at `user_base` + 64*(n modulo 1024), and has `user_size` bytes. The logic drops all
data, and counts reads, errors and cycles."""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware.numbers import ADDRESS_WIDTH, COMMAND_BYTES_BITS
from gateware.user.commands import UserCommands
from gateware.vocabulary.layouts import stream_layout

STEP  = 64   # Bytes from one read's address to the next one's.
READS = 1024 # Number of reads after which the addresses start again at the first.

class CommandReader(LiteXModule):
    """User logic that gives `count` read commands on a write to `start`, and counts their ends."""
    def __init__(self, platform):
        self.sink     = stream.Endpoint(stream_layout()) # i: h2c of the DMA, which is dropped
        self.source   = stream.Endpoint(stream_layout()) # o: c2h of the DMA, which is not used
        self.irq      = Signal()                         # o, all reads have ended.
        self.busy     = Signal()                         # o
        self.commands = commands = UserCommands()
        self.base     = CSRStorage(ADDRESS_WIDTH, description="Address of the first read.")
        self.size     = CSRStorage(COMMAND_BYTES_BITS, reset=STEP, description="Bytes of a read.")
        self.count    = CSRStorage(32, description="Number of reads.")
        self.start    = CSRStorage(fields=[CSRField("go", size=1, pulse=True,
            description="Clear the counts, and begin to read.")])
        self.begun    = CSRStatus(32, description="Reads that have begun.")
        self.ended    = CSRStatus(32, description="Reads that have ended.")
        self.failed   = CSRStatus(32, description="Of these, reads that failed.")
        self.cycles   = CSRStatus(32, description="Cycles from the start to the last read's end.")

        # # #

        # Data and ends are taken at once, so only the commands themselves limit what is measured.
        command, done = commands.command, commands.done
        running = Signal()
        self.comb += [
            self.sink.ready.eq(1),
            commands.h2c.ready.eq(1),
            done.ready.eq(1),
            command.valid.eq(running & (self.begun.status != self.count.storage)),
            command.address.eq(self.base.storage + STEP*self.begun.status[:log2_int(READS)]),
            command.bytes.eq(self.size.storage),
            self.busy.eq(running),
            self.irq.eq(running & (self.ended.status == self.count.storage)),
        ]
        counts = (self.begun, self.ended, self.failed, self.cycles)
        self.sync += [
            If(command.valid & command.ready, self.begun.status.eq(self.begun.status + 1)),
            If(done.valid,
                self.ended.status.eq(self.ended.status + 1),
                self.failed.status.eq(self.failed.status + (done.error != 0)),
            ),
            If(running, self.cycles.status.eq(self.cycles.status + 1)),
            If(self.irq, running.eq(0)),
            If(self.start.fields.go,
                running.eq(1),
                [count.status.eq(0) for count in counts],
            ),
        ]
