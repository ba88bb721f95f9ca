# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The card's writes to host memory: a stream fills the buffers of a table of descriptors.

A descriptor counts, and raises its interrupt, when the last of its data was handed to the endpoint.
The endpoint holds the interrupt back until that data has left.

Two things end a descriptor early, unless its `last_disable` is set. The stream's `last` ends it
behind the valid bytes of that beat. The flush time ends it if the stream has paused for so long.
The next beat begins the next descriptor. If a descriptor ends in the middle of a beat because its
buffer is full, the rest of that beat is lost: a buffer for packets should have a multiple of 32
bytes.
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
HEADERS     = 16            # Most pieces whose data is in the store.
HEADER_ROOM = HEADERS - 1     # One less: the level is seen a cycle late.
STORE_ROOM  = STORE_BEATS - 1 # One less: the level is seen a cycle late.

class C2h(LiteXModule):
    """Writes a stream to where the table says, through `port`, a master port of the endpoint.

    A write begins when all of its data is in the store, so a stream that pauses holds up no other
    client.

    When it is disabled, it finishes the write that has begun, writes the notices of descriptors
    that have ended, and drops everything else. It goes on to take and drop the stream. Bit 1 of its
    enable register says that it is at rest; it does not start again before.

    `notices` writes records and status lines for the host through the same port. `h2c` is the
    account of the other direction, for its status line.
    """
    def __init__(self, endpoint, port, h2c):
        self.sink       = stream.Endpoint(layouts.stream_layout()) # i
        self.irq        = Signal()   # o, one cycle: a descriptor is done.
        self.enable     = Signal()   # o, software has enabled it.
        self.flush_time = Signal(32) # i, cycles of silence that end a descriptor; 0: never.
        self.busy       = Signal()   # o, device time must run for it.

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
        """Moves the stream into the store, with a header for each piece."""
        piece, sink, header = self.cutter.source, self.sink, self.headers.sink
        empty               = Signal()
        room, store_room    = Signal(), Signal()
        beat                = Signal(max=PIECE_BEATS)
        taken, full, ended  = Signal(), Signal(), Signal()
        message             = Signal() # The beat ends its descriptor.
        self.flushes        = Signal() # The flush time ends the descriptor, without a beat.
        self.silent         = Signal() # The flush time has passed.
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

        # The header: the fields of the write that the piece will become.
        count, early = Signal(bits_for(BEAT_BYTES)), Signal()
        whole_bytes  = sink.bytes[:5] # Modulo 32, like piece.bytes: 0 is a whole beat.
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
        """`silent`: the flush time has passed since the last beat of this descriptor was taken."""
        # Cycles that are left, down to 1; always 0 without a flush time.
        rest        = Signal(len(self.flush_time))
        timed       = Signal()
        partly      = Signal() # The descriptor has data, and takes more.
        self.timing = Signal() # The flush time runs.
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
        """Moves data from the store to `port.source`, shifted to its byte offset in the first
        dword.

        A write of notices begins only where a write of data has ended, and uses the same signals.
        """
        header, store, source = self.headers.source, self.store.source, port.source
        notice = self.notices
        beat   = Signal(max=PIECE_BEATS + 1)
        begun  = Signal() # The endpoint was offered this write, so it must be finished.
        ends   = Signal() # If this is not the first beat: it is the last.
        moves  = Signal() # A beat of data is offered.
        last   = Signal() # This is the last beat of a write of data.
        told   = Signal() # This is the last beat of a notice.
        fire   = Signal()
        carry  = Signal(24) # The last 24 bits of the beat before.
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

        # If no write is half done, everything in here can be dropped.
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
        counts = Signal() # Like table.counted, but known before the write is over.
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
        """Device time runs while something can move, or will move by itself. In loop mode it always
        runs.
        """
        looping = self.table.loop_prog_n.storage
        moves   = looping | self.sink.valid | self.headers.source.valid | self.timing
        self.comb += self.busy.eq((self.enable & moves) | self.begun | self.account.waits)

def header_layout():
    """A write whose data is all in the store. With `last` it ends its descriptor."""
    return EndpointDescription([
        ("address", layouts.ADDRESS_WIDTH),
        ("none",    1), # No write: there are no bytes, or earlier pieces had them all.
        ("single",  1), # One beat.
        ("bytes",   bits_for(PIECE_BYTES)),
        ("message", 1), # With `last`: the stream's `last` has ended the descriptor.
        # With `last`: the flush time has ended the descriptor.
        ("flushed", 1),
        ("error",   1), # With `last`: the stream's `error` came with its `last`.
        *enables_layout(),
        *owner_layout(),
    ])
