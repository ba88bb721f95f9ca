# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The card's writes to host memory: a stream fills what a table of descriptors says.

A descriptor counts, and interrupts, when the last of its data was handed to the endpoint: the
endpoint holds an interrupt back until that data has left.

Two things end a descriptor early, unless its `last_disable` is set: the stream's `last`, behind the
bytes that count of that beat, and the flush time, if the stream has paused for so long. The next
beat begins the next descriptor. Of a beat that ends a descriptor the bytes beyond its length are
lost: a buffer that a packet may fill has a multiple of 32 bytes.
"""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from litex.soc.interconnect.stream import EndpointDescription
from migen import *

from lanebox import layouts
from lanebox.dma.descriptors import (
    BEAT_BYTES,
    PIECE_BEATS,
    PIECE_BYTES,
    DescriptorCutter,
    SettledTable,
    ShortPiece,
    enables_layout,
    owner_layout,
)
from lanebox.dma.notices import Account, Notices

STORE_BEATS = 4*PIECE_BEATS # One piece leaves while others come in.
HEADERS     = 16            # Pieces whose data is in the store.
HEADER_ROOM = HEADERS - 1     # Seen a cycle late,
STORE_ROOM  = STORE_BEATS - 1 # as this is.

class C2h(LiteXModule):
    """Writes through `port`, one of the endpoint's master ports, where the table says.

    A write is begun when all of its data is here: a stream that pauses holds up nobody else.

    Disabled, it ends the write that it is in, writes the notices of what has ended, drops
    everything else, and takes and drops what the stream brings. It says in its register when it is
    at rest, and does not start again before.

    `notices` tells the host of what has ended, through the same port, and of `h2c`, the account of
    the other direction, as well.
    """
    def __init__(self, endpoint, port, h2c):
        self.sink       = stream.Endpoint(layouts.stream_layout()) # i
        self.irq        = Signal()   # o, one cycle: a descriptor is done.
        self.enable     = Signal()   # o, as software wants it.
        self.flush_time = Signal(32) # i, cycles of silence that end a descriptor; 0: none do.
        self.busy       = Signal()   # o, time passes for it.

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
        self.account = Account()
        self.notices = Notices(endpoint.phy, self.account, h2c)
        self.comb += self.cutter.run.eq(self.run)

        self.add_pieces()
        self.add_writes(endpoint.phy, port)
        self.add_account()
        self.add_busy()

    def add_pieces(self):
        """From the stream to the store, and a header for each piece that is in it."""
        piece, sink, header = self.cutter.source, self.sink, self.headers.sink
        empty               = Signal()
        room, store_room    = Signal(), Signal()
        beat                = Signal(max=PIECE_BEATS)
        taken, full, ended  = Signal(), Signal(), Signal()
        message             = Signal() # With a beat: it ends the descriptor.
        self.flushes        = Signal() # Without one: the descriptor ends.
        self.silent         = Signal() # It may.
        self.comb += [
            empty.eq(piece.beats == 0),
            If(self.run,
                sink.ready.eq(piece.valid & ~empty & room & store_room)
            ).Else(
                sink.ready.eq(~self.enable)
            ),
            taken.eq(self.run & sink.valid & sink.ready),
            full.eq(beat + 1 == piece.beats),
            message.eq(sink.last & ~piece.last_disable & ~empty),
            self.flushes.eq(self.silent & piece.valid & ~piece.last_disable & room & ~sink.valid),
            self.cutter.terminate.eq(message | self.flushes),
            ended.eq((taken & (full | message)) | self.flushes),
            piece.ready.eq(ended | (piece.valid & empty & room)),
            self.store.sink.valid.eq(taken),
            self.store.sink.data.eq(sink.data),
        ]
        self.sync += [
            If(taken, beat.eq(beat + 1)),
            If(piece.ready | ~self.run, beat.eq(0)),
            room.eq(self.headers.level < HEADER_ROOM),
            store_room.eq(self.store.level < STORE_ROOM),
        ]

        # What the endpoint is told of it.
        count, early = Signal(bits_for(BEAT_BYTES)), Signal()
        whole_bytes  = sink.bytes[:5] # Modulo a beat, as those of the piece: 0 is all of it.
        self.short = short = ShortPiece(piece.address[:2], beat, count)
        self.comb += [
            count.eq(Mux(self.flushes, 0, Cat(whole_bytes, whole_bytes == 0))),
            early.eq(self.flushes | (message & ~(full & (
                (whole_bytes - 1)[:5] >= (piece.bytes[:5] - 1)[:5])))),
            header.valid.eq(piece.ready & self.run),
            header.address.eq(piece.address),
            header.none.eq(empty | (self.flushes & (beat == 0))),
            [getattr(header, name).eq(Mux(early, getattr(short, name), getattr(piece, name)))
                for name in ("bytes", *(name for name, _ in enables_layout()))],
            header.single.eq(header.end == 0),
            header.last.eq(piece.last | self.cutter.terminate),
            header.message.eq(message & ~self.flushes),
            header.flushed.eq(self.flushes),
            header.error.eq(message & sink.error & ~self.flushes),
            [getattr(header, name).eq(getattr(piece, name)) for name, _ in owner_layout()],
        ]
        self.add_silence(taken, ended & header.last)

    def add_silence(self, taken, ended):
        """`silent`: the flush time has passed since a beat of this descriptor was taken."""
        rest        = Signal(len(self.flush_time)) # Down to 1; always 0 without a flush time.
        timed       = Signal()
        partly      = Signal() # The descriptor has data, and takes more.
        self.timing = Signal() # Until it is silent.
        self.comb += self.timing.eq(partly & timed & ~self.cutter.source.last_disable)
        self.sync += [
            timed.eq(self.flush_time != 0),
            If(taken,
                partly.eq(1),
                rest.eq(self.flush_time),
                self.silent.eq(0)
            ).Elif(partly,
                If(rest[1:] != 0, rest.eq(rest - 1)),
                self.silent.eq(rest == 1)
            ),
            If(ended | ~self.run,
                partly.eq(0),
                self.silent.eq(0)
            ),
        ]

    def add_writes(self, phy, port):
        """From the store to `port.source`, turned to the bytes of the first dword.

        A write of the notices begins where one of data ends, and looks the same from there on.
        """
        header, store, source = self.headers.source, self.store.source, port.source
        notice = self.notices
        beat   = Signal(max=PIECE_BEATS + 1)
        begun  = Signal() # The endpoint has been offered this write: it is carried through.
        ends   = Signal() # The next beat is the last, unless it is the first.
        moves  = Signal() # Data does.
        last   = Signal() # Of data,
        told   = Signal() # or of a notice.
        fire   = Signal()
        carry  = Signal(24) # The end of the beat before.
        window = Signal(len(carry) + layouts.DATA_WIDTH)
        turned = Signal(layouts.DATA_WIDTH)
        end    = Mux(notice.valid, notice.end, header.end)
        address, chosen = notice.address(Cat(Signal(2), header.address[2:]))
        self.comb += [
            moves.eq(header.valid & ~header.none & ((self.run & ~notice.hold) | begun)),
            last.eq(Mux(source.first, header.single, ends)),
            told.eq(Mux(source.first, notice.end == 0, ends)),
            source.valid.eq(moves | notice.valid),
            fire.eq(source.valid & source.ready),
            source.channel.eq(port.channel),
            source.first.eq(beat == 0),
            source.last.eq(Mux(notice.valid, told, last)),
            source.we.eq(1),
            source.req_id.eq(phy.id),
            chosen,
            source.adr.eq(address),
            source.with_be.eq(1),
            If(notice.valid,
                source.len.eq(notice.dwords),
                source.first_be.eq(0xf),
                source.last_be.eq(0xf),
                source.dat.eq(notice.data)
            ).Else(
                source.len.eq(header.dwords),
                source.first_be.eq(header.first_be),
                source.last_be.eq(header.last_be),
                source.dat.eq(turned)
            ),
            window.eq(Cat(carry, store.data)),
            Case(header.address[:2], {
                n: turned.eq(window[24 - 8*n:len(window) - 8*n]) for n in range(4)}),
            store.ready.eq(moves & source.ready & ~(last & header.tail)),
            header.ready.eq((moves & source.ready & last) |
                (header.valid & header.none & self.run & ~notice.hold)),
            notice.beat.eq(beat),
            notice.done.eq(notice.valid & source.ready & told),
        ]
        self.sync += [
            If(fire,
                beat.eq(beat + 1),
                ends.eq(beat + 1 == end),
                carry.eq(store.data[-24:])
            ),
            If(header.ready | notice.done, beat.eq(0)),
            begun.eq(moves & ~(source.ready & last)),
        ]

        # Nothing is half written: all that is here can go.
        drop = Signal()
        self.begun = begun
        self.comb += [
            drop.eq(~self.run & ~begun),
            self.store.reset.eq(drop),
            self.headers.reset.eq(drop),
            notice.begun.eq(begun),
            notice.more.eq(header.valid),
            notice.run.eq(self.run),
            self.idle.eq(~begun & (~self.run | ~header.valid) & ~self.account.waits),
        ]

    def add_account(self):
        """A descriptor is done with the last beat of its last write."""
        header, table, account = self.headers.source, self.table, self.account
        counts = Signal() # As the table says it, but before the write is over.
        self.comb += [
            counts.eq(header.valid & header.last & self.run &
                (header.epoch == table.epoch) & ~table.flush),
            self.notices.counts.eq(counts),
            self.notices.asks.eq(header.irq),
            table.done.eq(header.ready & header.last & self.run),
            [getattr(table.owner, name).eq(getattr(header, name)) for name, _ in owner_layout()],
            account.piece.eq(header.ready),
            account.bytes.eq(header.bytes),
            account.last.eq(header.last),
            account.counted.eq(table.counted),
            account.failed.eq(header.error),
            account.irq.eq(table.irq),
            account.clear.eq(table.flush),
            account.drop.eq(~self.run),
            account.quiet.eq(~header.valid),
            self.notices.flags.eq(Cat(header.message, header.flushed, header.error)),
            self.irq.eq(Mux(account.tells, account.told_irq, table.irq)),
        ]

    def add_busy(self):
        """Time passes while something can move, or will by itself. A loop is work in any case."""
        looping = self.table.loop_prog_n.storage
        moves   = looping | self.sink.valid | self.headers.source.valid | self.timing
        self.comb += self.busy.eq((self.enable & moves) | self.begun | self.account.waits)

def header_layout():
    """A write that the store has all data of; `last`: with it its descriptor is done."""
    return EndpointDescription([
        ("address", layouts.ADDRESS_WIDTH),
        ("none",    1), # Nothing is written: no bytes, or those before it were all.
        ("single",  1), # One beat.
        ("bytes",   bits_for(PIECE_BYTES)),
        ("message", 1), # With `last`, why the descriptor has ended,
        ("flushed", 1),
        ("error",   1), # and that the stream says so.
        *enables_layout(),
        *owner_layout(),
    ])
