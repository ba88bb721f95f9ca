# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Logic for the user slot: it walks through a linked list in host memory, and adds up its values.

A node of the list has 16 bytes, little endian: the address of the next node, 0 in the last one, and
a value, both of 64 bits. Software writes the first node's address to `user_head`, and 1 to
`user_start`. The logic reads node after node by commands, and needs no DMA for that. At the end it
raises an interrupt. `user_sum` and `user_length` then cover the nodes up to the list's end, or up
to an error: a node that cannot be read ends the walk with the reason in `user_state`, and so does
a list of more than `user_limit` nodes, which may have no end.
"""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware.numbers import ADDRESS_WIDTH
from gateware.user.commands import UserCommands
from gateware.vocabulary.layouts import stream_layout

NODE_BYTES   = 16
VALUE_BITS   = 64
MOST_NODES   = 1 << 20 # Value of the register `user_limit` after a reset.

class ListSum(LiteXModule):
    """Adds up the values of a linked list in host memory, of at most `limit` nodes."""
    def __init__(self, platform):
        self.sink     = sink = stream.Endpoint(stream_layout()) # i: h2c, which is dropped
        self.source   = stream.Endpoint(stream_layout())        # o: c2h, which is not used
        self.irq      = Signal()                                # o
        self.busy     = Signal()                                # o: high: device time must run
        self.commands = commands = UserCommands()               # reads of host memory
        self.head     = CSRStorage(ADDRESS_WIDTH, description="Address of the list's first node.")
        self.start    = CSRStorage(fields=[CSRField("go", size=1, pulse=True,
            description="Walk through the list at `head`, if no walk is under way.")])
        self.limit    = CSRStorage(32, reset=MOST_NODES, description="The most nodes of a walk.")
        self.state    = CSRStatus(fields=[
            CSRField("running", size=1, offset=0, description="A walk is under way."),
            CSRField("endless", size=1, offset=1, description="The list has more than `limit` "
                "nodes."),
            CSRField("error", size=3, offset=4, description="Why a node could not be read; 0: all "
                "could. See gateware/README.md, Commands of the user slot.")])
        self.sum      = CSRStatus(VALUE_BITS, description="Sum of the values, modulo 2^64.")
        self.length   = CSRStatus(32, description="Nodes that were read.")

        # # #

        self.comb += sink.ready.eq(1)

        # A read of a node -------------------------------------------------------------------------

        # The address 0 ends the list, so a command reads a node only if `address` is not 0.
        address = Signal(ADDRESS_WIDTH)
        asked   = Signal() # A command for the node at `address` is under way.
        command, h2c, done = commands.command, commands.h2c, commands.done
        running = self.state.fields.running
        came, endless = Signal(), Signal()
        self.comb += [
            endless.eq(self.length.status == self.limit.storage),
            command.valid.eq(running & (address != 0) & ~asked & ~endless),
            command.address.eq(address),
            command.bytes.eq(NODE_BYTES),
            # The data of a read and its end (`h2c` and `done` of the commands) are taken together.
            came.eq(h2c.valid & done.valid),
            h2c.ready.eq(came),
            done.ready.eq(came),
            self.busy.eq(running),
        ]

        # The walk ---------------------------------------------------------------------------------

        following = h2c.data[:ADDRESS_WIDTH]
        value     = h2c.data[ADDRESS_WIDTH:ADDRESS_WIDTH + VALUE_BITS]
        begins, ends = Signal(), Signal()
        self.comb += [
            begins.eq(self.start.fields.go & ~running),
            ends.eq(running & ~asked & ((address == 0) | endless)),
        ]
        self.sync += [
            self.irq.eq(ends),
            If(command.valid & command.ready, asked.eq(1)),
            If(came,
                asked.eq(0),
                self.state.fields.error.eq(done.error),
                address.eq(following),
                If(done.error != 0,
                    address.eq(0),
                ).Else(
                    self.sum.status.eq(self.sum.status + value),
                    self.length.status.eq(self.length.status + 1),
                ),
            ),
            If(ends,
                running.eq(0),
                self.state.fields.endless.eq(address != 0),
            ),
            If(begins,
                running.eq(1),
                address.eq(self.head.storage),
                self.state.fields.endless.eq(0),
                self.state.fields.error.eq(0),
                self.sum.status.eq(0),
                self.length.status.eq(0),
            ),
        ]
