# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The card's reads of host memory: a table of descriptors becomes a stream, in the table's order.

A descriptor is done when its data is here, whatever the round trip: only then do `loop_status` and
the interrupt say so, and software may fill its buffer anew. LitePCIe's own engine says so when it
has asked for the data, and so may have no more in flight than its software keeps its hands off.

Table, registers and the cutting of descriptors are LitePCIe's: its software sees no difference.
A descriptor's data begins on a beat of its own; what stands beside it in an incomplete last dword
or beat is not defined. Data that the host fails to give is zero, and counted by the endpoint.
"""

from litepcie.frontend.dma import LitePCIeDMADescriptorSplitter, LitePCIeDMAScatterGather
from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from lanebox import layouts

BEAT_BYTES    = layouts.DATA_WIDTH//8
REQUEST_BEATS = layouts.LARGEST_PAYLOAD//BEAT_BYTES
MOST_REQUESTS = 2*layouts.READ_TAGS # In flight, with those that wait for a tag or for delivery.

# Table --------------------------------------------------------------------------------------------

class SettledTable(LitePCIeDMAScatterGather):
    """LitePCIe's table of descriptors, with a loop status that others decide on."""
    def __init__(self, depth, address_width):
        LitePCIeDMAScatterGather.__init__(self, depth, address_width)
        width        = self.loop_status.size
        self.issued  = Signal(width) # o, LitePCIe's own: of descriptors that were handed out.
        self.settled = Signal(width) # i, what software reads.
        self.flush   = Signal()      # o, software empties the table.

        # # #

        fields = self.loop_status.fields
        self.comb += [
            self.issued.eq(Cat(fields.index, fields.count)),
            self.flush.eq(self.reset.re & self.reset.storage),
        ]
        self.loop_status.status = self.settled # Of which LiteX makes the register in the end.

# Engine -------------------------------------------------------------------------------------------

class H2c(LiteXModule):
    """Reads through `port`, one of the endpoint's master ports, what the table says.

    `store_size` bytes may be in flight, or wait for the user.

    Disabled, it comes to rest when all that it has asked for has come, and is dropped. It says so
    in its register, and does not start again before.
    """
    def __init__(self, endpoint, port, store_size=layouts.DMA_STORE_SIZE):
        self.source = stream.Endpoint(layouts.stream_layout()) # o
        self.irq    = Signal()                                 # o, one cycle: a descriptor is done.
        self.enable = Signal()                                 # o, as software wants it.

        self._enable = CSRStorage(2,
            description="Bit 0: read what the table says. Bit 1 (read): nothing is in flight.")
        self.table = SettledTable(layouts.DMA_TABLE_DEPTH, layouts.ADDRESS_WIDTH)

        # # #

        self.run     = Signal()
        self.idle    = Signal()
        self.depth   = store_size//BEAT_BYTES
        self.claimed = Signal(max=self.depth + 1) # Beats of the store: taken, or asked for.
        resting      = Signal(reset=1)
        self.comb += [
            self.enable.eq(self._enable.storage[0]),
            self.run.eq(self.enable & ~resting),
        ]
        self.sync += [
            If(~self.enable, resting.eq(1)).Elif(self.idle, resting.eq(0)),
            self._enable.storage[1].eq(self.idle),
        ]

        # Requests in flight, in the order in which the endpoint delivers their data. `first` and
        # `last` are of their descriptor, `status` is what software shall read when that is done.
        self.flight = stream.SyncFIFO([
            ("irq", 1), ("status", len(self.table.issued)),
        ], MOST_REQUESTS)

        # Room in it is claimed with the request: data that the endpoint holds never waits for the
        # user, since interrupts and others' data wait for it.
        self.store = ResetInserter()(
            stream.SyncFIFO(layouts.stream_layout(), self.depth, buffered=True))

        self.add_requests(endpoint.phy, port)
        self.add_data(port)
        self.add_counts(port)

    def add_requests(self, phy, port):
        """From the table to `port.source`: a request when there is room for all of its data."""
        splitter = LitePCIeDMADescriptorSplitter(phy.max_request_size, layouts.ADDRESS_WIDTH)
        self.splitter = splitter = ResetInserter()(splitter)
        self.comb += self.table.source.connect(splitter.sink)

        # A request is cut at least a cycle before it is made: time to size it.
        piece  = splitter.source
        dwords = Signal(max=layouts.LARGEST_PAYLOAD//4 + 1)
        beats  = Signal(max=REQUEST_BEATS + 1)
        room   = Signal()
        self.sync += [
            dwords.eq((piece.length[:bits_for(layouts.LARGEST_PAYLOAD)] + 3) >> 2),
            beats.eq((piece.length[:bits_for(layouts.LARGEST_PAYLOAD)] + BEAT_BYTES - 1)
                >> log2_int(BEAT_BYTES)),
            # LitePCIe's ports take 0 for 1024 dwords.
            If(piece.length == 0, dwords.eq(1), beats.eq(1)),
        ]
        self.comb += room.eq(
            (self.claimed <= self.depth - REQUEST_BEATS) &
            (self.flight.level < MOST_REQUESTS - 1) # The last one may not be in it yet.
        )

        self.fsm = fsm = FSM(reset_state="IDLE")
        fsm.act("IDLE",
            If(~self.run,
                splitter.reset.eq(1)
            ).Elif(piece.valid & room,
                NextState("REQUEST")
            )
        )
        fsm.act("REQUEST",
            port.source.valid.eq(1),
            If(port.source.ready,
                piece.ready.eq(1),
                NextState("IDLE")
            )
        )
        self.comb += [
            port.source.channel.eq(port.channel),
            port.source.user_id.eq(piece.user_id),
            port.source.first.eq(1),
            port.source.last.eq(1),
            port.source.adr.eq(piece.address),
            port.source.len.eq(dwords),
            port.source.req_id.eq(phy.id),
        ]

        # The table's status counts a descriptor from the cycle after its last request on.
        issued, in_flight = Signal(), self.flight.sink
        self.comb += [
            issued.eq(port.source.valid & port.source.ready),
            in_flight.status.eq(self.table.issued),
            self.idle.eq(fsm.ongoing("IDLE") & ~in_flight.valid & ~self.flight.source.valid),
        ]
        self.sync += [
            in_flight.valid.eq(issued),
            in_flight.first.eq(piece.first),
            in_flight.last.eq(piece.last),
            in_flight.irq.eq(~piece.irq_disable),
        ]

        # While nothing is run nothing is stored.
        left = self.store.source.valid & self.store.source.ready
        self.sync += [
            self.claimed.eq(self.claimed + Mux(issued, beats, 0) - left),
            If(~self.run, self.claimed.eq(0)),
        ]

    def add_data(self, port):
        """From `port.sink` to `source`; what comes while there is no run is dropped."""
        store = self.store
        self.comb += [
            store.reset.eq(~self.run),
            store.sink.data.eq(port.sink.dat),
            store.sink.first.eq(port.sink.first & self.flight.source.first),
            If(self.run,
                port.sink.connect(store.sink, keep={"valid", "ready"})
            ).Else(
                port.sink.ready.eq(1)
            ),
            store.source.connect(self.source),
        ]

    def add_counts(self, port):
        """A descriptor is done with the last beat of its last request."""
        ended, done = Signal(), Signal()
        request     = self.flight.source
        self.comb += [
            ended.eq(port.sink.valid & port.sink.ready & port.sink.last),
            request.ready.eq(ended),
            done.eq(ended & request.last & self.run),
        ]
        self.sync += [
            self.irq.eq(done & request.irq),
            If(self.table.flush,
                self.table.settled.eq(0)
            ).Elif(done,
                self.table.settled.eq(request.status)
            ),
        ]
