# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The card's writes to host memory: a stream fills what a table of descriptors says.

A descriptor counts, and interrupts, when the last of its data was handed to the endpoint: the
endpoint holds an interrupt back until that data has left. The stream's `last` ends a descriptor
early unless it says otherwise; the next beat begins the next descriptor.
"""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from litex.soc.interconnect.stream import EndpointDescription
from migen import *

from lanebox import layouts
from lanebox.dma.descriptors import (
    PIECE_BEATS,
    DescriptorCutter,
    SettledTable,
    enables_layout,
    last_dword,
    owner_layout,
)

STORE_BEATS = 4*PIECE_BEATS # One piece leaves while others come in.
HEADERS     = 16            # Pieces whose data is in the store.
HEADER_ROOM = HEADERS - 1   # Seen a cycle late.

class C2h(LiteXModule):
    """Writes through `port`, one of the endpoint's master ports, where the table says.

    A write is begun when all of its data is here: a stream that pauses holds up nobody else.

    Disabled, it ends the write that it is in, drops everything else, and takes and drops what the
    stream brings. It says in its register when it is at rest, and does not start again before.
    """
    def __init__(self, endpoint, port):
        self.sink   = stream.Endpoint(layouts.stream_layout()) # i
        self.irq    = Signal()                                 # o, one cycle: a descriptor is done.
        self.enable = Signal()                                 # o, as software wants it.

        self._enable = CSRStorage(2,
            description="Bit 0: write what the table says. Bit 1 (read): no write is under way.")
        self.table = SettledTable(layouts.DMA_TABLE_DEPTH, layouts.ADDRESS_WIDTH)

        # # #

        self.run     = Signal()
        self.idle    = Signal()
        self.resting = Signal(reset=1)
        self.comb += [
            self.enable.eq(self._enable.storage[0]),
            self.run.eq(self.enable & ~self.resting),
        ]
        self.sync += [
            If(~self.enable, self.resting.eq(1)).Elif(self.idle, self.resting.eq(0)),
            self._enable.storage[1].eq(self.idle),
        ]
        self.cutter  = DescriptorCutter(self.table)
        self.store   = ResetInserter()(
            stream.SyncFIFO([("data", layouts.DATA_WIDTH)], STORE_BEATS))
        self.headers = ResetInserter()(stream.SyncFIFO(header_layout(), HEADERS))
        self.comb += self.cutter.run.eq(self.run)

        self.add_pieces()
        self.add_writes(endpoint.phy, port)

    def add_pieces(self):
        """From the stream to the store, and a header for each piece that is in it."""
        piece, sink, header = self.cutter.source, self.sink, self.headers.sink
        empty, room         = Signal(), Signal()
        beat                = Signal(max=PIECE_BEATS)
        taken, full, ended  = Signal(), Signal(), Signal()
        shifted             = piece.address[:2] != 0
        self.comb += [
            empty.eq(piece.beats == 0),
            If(self.run,
                sink.ready.eq(piece.valid & ~empty & room & self.store.sink.ready)
            ).Else(
                sink.ready.eq(~self.enable)
            ),
            taken.eq(self.run & sink.valid & sink.ready),
            full.eq(beat + 1 == piece.beats),
            self.cutter.terminate.eq(sink.last & ~piece.last_disable & ~empty),
            ended.eq(taken & (full | self.cutter.terminate)),
            piece.ready.eq(ended | (piece.valid & empty & room)),
            self.store.sink.valid.eq(taken),
            self.store.sink.data.eq(sink.data),

            # What the endpoint is told. A piece that ends early has whole beats.
            header.valid.eq(piece.ready & self.run),
            header.address.eq(piece.address),
            header.none.eq(empty),
            header.first_be.eq(piece.first_be),
            If(full | empty,
                header.dwords.eq(piece.dwords),
                header.last_be.eq(piece.last_be),
                header.end.eq(piece.end),
                header.tail.eq(piece.tail)
            ).Else(
                header.dwords.eq(Cat(shifted, Signal(2), beat + 1)),
                Case(piece.address[:2], {n: header.last_be.eq(last_dword(n)) for n in range(4)}),
                header.end.eq(beat + shifted),
                header.tail.eq(shifted)
            ),
            header.single.eq(header.end == 0),
            header.last.eq(piece.last | self.cutter.terminate),
            [getattr(header, name).eq(getattr(piece, name)) for name, _ in owner_layout()],
        ]
        self.sync += [
            If(taken, beat.eq(beat + 1)),
            If(piece.ready | ~self.run, beat.eq(0)),
            room.eq(self.headers.level < HEADER_ROOM),
        ]

    def add_writes(self, phy, port):
        """From the store to `port.source`, turned to the bytes of the first dword."""
        header, store, source = self.headers.source, self.store.source, port.source
        beat   = Signal(max=PIECE_BEATS + 1)
        begun  = Signal() # The endpoint has been offered this write: it is carried through.
        ends   = Signal() # The next beat is the last, unless it is the first.
        last, fire = Signal(), Signal()
        carry  = Signal(24) # The end of the beat before.
        window = Signal(len(carry) + layouts.DATA_WIDTH)
        self.comb += [
            last.eq(Mux(source.first, header.single, ends)),
            source.valid.eq(header.valid & ~header.none & (self.run | begun)),
            fire.eq(source.valid & source.ready),
            source.channel.eq(port.channel),
            source.first.eq(beat == 0),
            source.last.eq(last),
            source.we.eq(1),
            source.adr.eq(Cat(Signal(2), header.address[2:])),
            source.len.eq(header.dwords),
            source.req_id.eq(phy.id),
            source.with_be.eq(1),
            source.first_be.eq(header.first_be),
            source.last_be.eq(header.last_be),
            window.eq(Cat(carry, store.data)),
            Case(header.address[:2], {
                n: source.dat.eq(window[24 - 8*n:len(window) - 8*n]) for n in range(4)}),
            store.ready.eq(fire & ~(last & header.tail)),
            header.ready.eq((fire & last) | (header.valid & header.none & self.run)),
        ]
        self.sync += [
            If(fire,
                beat.eq(beat + 1),
                ends.eq(beat + 1 == header.end),
                carry.eq(store.data[-24:])
            ),
            If(header.ready, beat.eq(0)),
            begun.eq(source.valid & ~(fire & last)),
        ]

        # Nothing is half written: all that is here can go.
        drop = Signal()
        self.comb += [
            drop.eq(~self.run & ~begun),
            self.store.reset.eq(drop),
            self.headers.reset.eq(drop),
            self.idle.eq(~begun & (~self.run | ~header.valid)),
            self.table.done.eq(header.ready & header.last & self.run),
            [getattr(self.table.owner, name).eq(getattr(header, name))
                for name, _ in owner_layout()],
            self.irq.eq(self.table.irq),
        ]

def header_layout():
    """A write that the store has all data of; `last`: with it its descriptor is done."""
    return EndpointDescription([
        ("address", layouts.ADDRESS_WIDTH),
        ("none",    1), # A descriptor of no bytes: nothing is written.
        ("single",  1), # One beat.
        *enables_layout(),
        *owner_layout(),
    ])
