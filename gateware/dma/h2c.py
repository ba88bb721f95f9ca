# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The card's reads of host memory: a table of descriptors becomes a stream, in the table's order.

A descriptor is done when its data is here, whatever the round trip: only then do `loop_status` and
the interrupt say so, and software may fill its buffer anew. LitePCIe's own engine says so when it
has asked for the data, and so may have no more in flight than its software keeps its hands off.

Unless its `last_disable` is set, a descriptor is a packet: its last beat has `last`, with the bytes
that count of it. Data that the host fails to give is zero, and counted by the endpoint; that `last`
comes with `error`. For a descriptor of no bytes one byte is read, and one beat comes.
"""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from lanebox import layouts
from lanebox.dma.descriptors import (
    BEAT_BYTES,
    PIECE_BEATS,
    PIECE_BYTES,
    DescriptorCutter,
    SettledTable,
    owner_layout,
)
from lanebox.dma.notices import Account

MOST_REQUESTS = 2*layouts.READ_TAGS # In flight, with those that wait for a tag or for delivery.

class H2c(LiteXModule):
    """Reads through `port`, one of the endpoint's master ports, what the table says.

    `store_size` bytes may be in flight, or wait for the user. `account` is what the channel's
    notices tell of it (notices.py).

    Disabled, it comes to rest when all that it has asked for has come, and is dropped, with what
    waited for the user, and when the notices of what has ended are written. It says so in its
    register, and does not start again before. The register also says when nothing would be lost so.
    """
    def __init__(self, endpoint, port, account=None, store_size=layouts.DMA_STORE_SIZE):
        self.source = stream.Endpoint(layouts.stream_layout()) # o
        self.irq    = Signal()                                 # o, one cycle: a descriptor is done.
        self.enable = Signal()                                 # o, as software wants it.
        self.busy   = Signal()                                 # o, time passes for it.

        self._enable = CSRStorage(3,
            description="Bit 0: read what the table says. Bit 1 (read): nothing is in flight. "
                "Bit 2 (read): nor does anything wait for the user.")
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
            self._enable.storage[2].eq(self.claimed == 0),
        ]
        self.cutter = DescriptorCutter(self.table)
        # A read that fails leaves zeros for its request: these are no longer than the host's reads.
        largest = endpoint.phy.max_request_size
        self.sync += self.cutter.largest.eq(Mux(largest > PIECE_BYTES, PIECE_BYTES, largest))

        # Requests in flight, in the order in which the endpoint delivers their data. `first` and
        # `last` are of their descriptor; `tail`: they bring a beat more than they fill; `packet`:
        # their last beat ends a packet.
        self.flight = stream.SyncFIFO([
            ("shift", 2), ("tail", 1), ("bytes", bits_for(PIECE_BYTES)), ("packet", 1),
            *owner_layout(),
        ], MOST_REQUESTS, buffered=True)

        # Room in it is claimed with the request: data that the endpoint holds never waits for the
        # user, since interrupts and others' data wait for it.
        self.store = ResetInserter()(
            stream.SyncFIFO(layouts.stream_layout(), self.depth, buffered=True))

        self.account = account or Account()
        self.quiet   = Signal() # Nothing is in flight.
        self.comb   += self.idle.eq(self.quiet & ~self.account.waits)

        self.add_requests(endpoint.phy, port)
        self.add_data(port)
        self.add_counts(port)
        self.add_busy()

    def add_requests(self, phy, port):
        """From the table to `port.source`: a request when there is room for all of its data."""
        piece, request, flight = self.cutter.source, port.source, self.flight.sink
        beats, room, begins    = Signal(len(piece.beats)), Signal(), Signal()
        offered                = Signal() # A request that was shown is not taken back.
        self.comb += [
            beats.eq(Mux(piece.beats == 0, 1, piece.beats)),
            request.valid.eq(piece.valid & (offered | (self.run & room))),
            begins.eq(request.valid & request.ready),
            piece.ready.eq(begins),
            request.channel.eq(port.channel),
            request.first.eq(1),
            request.last.eq(1),
            request.adr.eq(Cat(Signal(2), piece.address[2:])),
            request.len.eq(piece.dwords),
            request.req_id.eq(phy.id),
            request.with_be.eq(1),
            request.first_be.eq(piece.first_be),
            request.last_be.eq(piece.last_be),
            flight.valid.eq(begins),
            flight.first.eq(piece.first),
            flight.last.eq(piece.last),
            flight.shift.eq(piece.address[:2]),
            flight.tail.eq(piece.tail),
            flight.bytes.eq(piece.bytes),
            flight.packet.eq(piece.last & ~piece.last_disable),
            [getattr(flight, name).eq(getattr(piece, name)) for name, _ in owner_layout()],
            self.quiet.eq(~offered & (self.flight.level == 0)),
            self.cutter.run.eq(self.run),
            self.cutter.hold.eq(offered),
        ]
        self.sync += [
            offered.eq(request.valid & ~request.ready),
            # Seen a cycle late: another request may have begun.
            room.eq((self.claimed <= self.depth - 2*PIECE_BEATS) &
                (self.flight.level < MOST_REQUESTS - 1)),
        ]

        # While nothing is run nothing is stored.
        left = self.store.source.valid & self.store.source.ready
        self.sync += [
            self.claimed.eq(self.claimed + Mux(begins, beats, 0) - left),
            If(~self.run, self.claimed.eq(0)),
        ]

    def add_data(self, port):
        """From `port.sink` to `source`, turned so that a descriptor begins in lane 0.

        What comes while there is no run is dropped. A beat waits for the next one where it needs
        the beginning of it.
        """
        store, sink, flight = self.store, port.sink, self.flight.source
        self.held   = held = stream.Endpoint(layouts.stream_layout())
        self.failed = Signal() # Of this descriptor data is missing.
        before = Signal()      # Of the requests before this one, or of its beats.
        ends   = Signal()      # This is the request's last beat of the stream, and `held` is not.
        whole  = Signal()      # `held` is its request's last.
        shift  = Signal(2)
        bytes  = Signal(layouts.STREAM_BYTES)
        window = Signal(layouts.DATA_WIDTH + 24) # With the beginning of the next beat.
        self.comb += [
            sink.ready.eq(1), # The store has room.
            store.reset.eq(~self.run),
            store.sink.valid.eq(held.valid & (whole | sink.valid | (shift == 0))),
            store.sink.first.eq(held.first),
            window.eq(Cat(held.data, sink.dat[:24])),
            Case(shift, {n: store.sink.data.eq(window[8*n:8*n + layouts.DATA_WIDTH])
                for n in range(4)}),
            store.source.connect(self.source),

            # Of no bytes one was read.
            bytes.eq(Mux(flight.bytes == 0, 1, flight.bytes[:5])),
            self.failed.eq(before | (sink.valid & sink.err)),
            ends.eq(sink.last & flight.tail & ~whole),
            store.sink.last.eq(Mux(whole, held.last, ends & flight.packet)),
            store.sink.bytes.eq(Mux(whole, held.bytes, bytes)),
            store.sink.error.eq(Mux(whole, held.error, self.failed)),
        ]
        self.sync += [
            If(store.sink.valid, held.valid.eq(0)),
            If(sink.valid,
                # Of the tail the beat before takes all that is wanted.
                held.valid.eq(~(sink.last & flight.tail)),
                held.first.eq(sink.first & flight.first),
                whole.eq(sink.last),
                held.last.eq(flight.packet),
                held.bytes.eq(bytes),
                held.error.eq(self.failed),
                held.data.eq(sink.dat),
                shift.eq(flight.shift),
                before.eq(self.failed & ~(sink.last & flight.last))
            ),
            If(~self.run,
                held.valid.eq(0),
                before.eq(0)
            ),
        ]

    def add_counts(self, port):
        """A descriptor is done with the last beat of its last request."""
        request, table, account = self.flight.source, self.table, self.account
        late = Signal()
        self.comb += [
            request.ready.eq(port.sink.valid & port.sink.ready & port.sink.last),
            table.done.eq(request.ready & request.last & self.run),
            [getattr(table.owner, name).eq(getattr(request, name)) for name, _ in owner_layout()],
            account.piece.eq(request.ready),
            account.bytes.eq(request.bytes),
            account.last.eq(request.last),
            account.counted.eq(table.counted),
            account.failed.eq(self.failed),
            account.irq.eq(table.irq),
            account.clear.eq(table.flush),
            account.drop.eq(~self.run),
            account.quiet.eq(self.quiet),
            self.irq.eq(Mux(account.tells, account.told_irq, late)),
        ]
        self.sync += late.eq(table.irq)

    def add_busy(self):
        """Time passes while there are descriptors, or data that moves or waits for the user.

        A loop is work in any case. A descriptor is in the table two cycles after its doorbell.
        """
        table, cutter = self.table, self.cutter
        rung = Signal()
        self.sync += rung.eq(table.we.re)
        self.comb += self.busy.eq(table.we.re | rung | ~self.quiet | self.account.waits |
            (self.enable & (table.loop_prog_n.storage | table.source.valid |
                cutter.ahead.source.valid | cutter.source.valid | cutter.waits |
                self.held.valid | (self.store.level != 0))))
