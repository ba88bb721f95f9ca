# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The c2h engine of a DMA channel: it writes a stream into the host buffers that a table of
descriptors lists.

A descriptor counts, and raises its interrupt, when the last of its data was handed to the endpoint.
The endpoint holds the interrupt back until that data has left.

Two events end a descriptor early, unless its `last_disable` is set. The stream's `last` ends it
behind the valid bytes of the beat that has `last`. The flush time ends it when so many cycles have
passed without a beat. The next beat then begins the next descriptor. If a descriptor ends in the
middle of a beat because its buffer is full, the rest of that beat is lost. So a buffer for packets
should have a multiple of 32 bytes."""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from litex.soc.interconnect.stream import EndpointDescription
from migen import *

from gateware import numbers
from gateware.dma.descriptors import (
    BEAT_BYTES,
    PIECE_BEATS,
    PIECE_BYTES,
    DescriptorCutter,
    SettledTable,
    ShortPiece,
    enables_layout,
    owner_layout,
)
from gateware.dma.notices import H2C_LINE, Account, Notices
from gateware.vocabulary import layouts

# Beats in the c2h store, a FIFO of data that waits to be written. It has room for four of the
# largest pieces, so that one leaves while others come in.
STORE_BEATS = 4*PIECE_BEATS
# Each piece (the data of one write to the host) has a header in a FIFO. The FIFO holds this many
# headers.
HEADERS     = 16
# The c2h engine begins a piece only while fewer than this many headers are in the FIFO. It is one
# less than fits, since the FIFO's level is seen a cycle late.
HEADER_ROOM = HEADERS - 1
# The c2h engine takes a beat only while fewer than this many beats are in the store. It is one less
# than fits, since the store's level is seen a cycle late.
STORE_ROOM  = STORE_BEATS - 1

class C2h(LiteXModule):
    """Writes a stream into the buffers of the table's descriptors, through `port`, a master port of
    the endpoint.

        table ---> cutter --- piece ---> a piece ends ---> headers ---+
                     ^                   |      ^                     |
                     +-- `last`, flush --+      |                     v
        sink -----------------------------------+---> store ---> a write, shifted ---> port.source
                                                                      |                     ^
                           a descriptor is done: table, account, irq <+                     |
                                                            |                               |
                                           h2c's account ---+---> notices: records, lines --+

    A write begins when all of its data is in the store, so a stream that pauses holds up no other
    client of the endpoint.

    When the engine is disabled, it finishes the write that has begun, writes the notices of
    descriptors that have ended, and drops all other data. While disabled it takes the stream's
    beats and drops them. It rests when all of its writes have left the hard block, so that the
    memory can be freed then. Bit 1 of its enable register says that it rests. It does not start
    again before.

    `notices` writes records and status lines for the host through the same port. `h2c` is the
    Account of the h2c engine, for the status line of h2c."""
    def __init__(self, endpoint, port, h2c):
        self.sink       = stream.Endpoint(layouts.stream_layout()) # i
        self.irq        = Signal() # o, one cycle: an interrupt for c2h descriptors that are done.
        self.enable     = Signal() # o, software has enabled the c2h engine.
        # i, a c2h descriptor with data ends after this many cycles without a beat; 0: it waits for
        # data without limit.
        self.flush_time = Signal(32)
        self.busy       = Signal() # o, the c2h engine has work, so device time must run.

        self._enable = CSRStorage(2,
            description="Bit 0: run, and write to the buffers of the table's descriptors. "
                "Bit 1 (read): no write is under way, and the last one has left the card.")
        self.table = SettledTable(numbers.DMA_TABLE_DEPTH, numbers.ADDRESS_WIDTH)

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
            stream.SyncFIFO([("data", numbers.DATA_WIDTH)], STORE_BEATS))
        self.headers = ResetInserter()(stream.SyncFIFO(header_layout(), HEADERS))
        self.account = Account()
        self.notices = Notices(endpoint.phy, self.account, h2c)
        self.comb += self.cutter.run.eq(self.run)

        self.add_pieces()
        self.add_writes(endpoint.phy, port)
        self.add_account()
        self.add_busy()

    def add_pieces(self):
        """Moves the user's stream into the c2h store, and makes a header for each piece, which is
        the data of one write to the host."""
        piece, sink, header = self.cutter.source, self.sink, self.headers.sink
        empty               = Signal()
        room, store_room    = Signal(), Signal()
        beat                = Signal(max=PIECE_BEATS)
        taken, full, ended  = Signal(), Signal(), Signal()
        # The stream's beat has `last`, which ends the c2h descriptor.
        message             = Signal()
        # The flush time ends the c2h descriptor in a cycle in which no beat comes.
        self.flushes        = Signal()
        # The flush time has passed since the c2h descriptor's last beat was taken.
        self.silent         = Signal()
        self.comb += [
            empty.eq(piece.beats == 0),
            # No stream operator fits: a piece ends with a beat, a message, or in silence.
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

        # A piece's header has the fields of the write request to the host that carries the piece.
        count, early = Signal(bits_for(BEAT_BYTES)), Signal()
        # Number of valid bytes in the stream's beat, modulo 32: 0 means all 32 bytes.
        whole_bytes  = sink.bytes[:5]
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
        """Drives `silent`, which says that the flush time has passed since the last beat of the
        descriptor was taken."""
        # Cycles that are left until the flush time ends the c2h descriptor, down to 1. Always 0 if
        # the flush time is off.
        rest        = Signal(len(self.flush_time))
        timed       = Signal()
        partly      = Signal() # The c2h descriptor has got data, and its buffer is not full.
        self.timing = Signal() # The flush time is running for a partly filled c2h descriptor.
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
        """Moves data from the store to `port.source`, shifted to the byte offset that it has in the
        write's first dword.

        The write of a notice uses the same signals. It begins only where a write of data has ended.
        """
        header, store, source = self.headers.source, self.store.source, port.source
        notice = self.notices
        beat   = Signal(max=PIECE_BEATS + 1)
        # The endpoint was offered a beat of the write, so the write must be finished.
        begun  = Signal()
        # The present beat is the last of its write. Not valid for a write's first beat.
        ends   = Signal()
        moves  = Signal() # A beat of c2h data is offered to the endpoint.
        last   = Signal() # The present beat is the last one of a write of c2h data.
        # The present beat is the last one of the write of a notice (a record or a status line).
        told   = Signal()
        fire   = Signal()
        # The last 24 bits of the beat before. The shift to the write's byte offset moves some of
        # them into the present beat.
        carry  = Signal(24)
        joined = Signal(len(carry) + numbers.DATA_WIDTH)
        turned = Signal(numbers.DATA_WIDTH)
        end    = Mux(notice.valid, notice.end, header.end)
        address, chosen = notice.address(Cat(Signal(2), header.address[2:]))
        self.comb += [
            moves.eq(header.valid & ~header.none & ((self.run & ~notice.hold) | begun)),
            last.eq(Mux(source.first, header.single, ends)),
            told.eq(Mux(source.first, notice.end == 0, ends)),
            # No stream operator fits: a header goes with many beats of data, or with none.
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
            joined.eq(Cat(carry, store.data)),
            Case(header.address[:2], {
                n: turned.eq(joined[24 - 8*n:len(joined) - 8*n]) for n in range(4)}),
            store.ready.eq(moves & source.ready & ~(last & header.tail)),
            header.ready.eq((moves & source.ready & last) |
                (header.valid & header.none & self.run & ~notice.hold)),
            notice.beat.eq(beat),
            notice.done.eq(notice.valid & source.ready & told),
        ]
        # A status line of h2c goes by c2h's port, and h2c waits for it.
        ours, h2c = notice.accounts
        for_h2c   = notice.which == H2C_LINE
        # A notice is offered only while no write of data is: `moves` is low then.
        self.comb += [
            ours.departure.taken.eq((moves & source.ready & last) | (notice.done & ~for_h2c)),
            h2c.departure.taken.eq(notice.done & for_h2c),
            [account.departure.sent.eq(port.sent) for account in notice.accounts],
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

        # While the c2h engine is disabled and no write is half done, the data in the store is
        # dropped.
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
        """Counts c2h descriptors. A descriptor is done when the endpoint has taken the last beat of
        its last write."""
        header, table, account = self.headers.source, self.table, self.account
        # The c2h descriptor will count (table.counted) when its present write, the last one, ends.
        counts = Signal()
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
        """Drives `busy`, which makes device time run. The engine is busy while data can move, while
        the flush time runs, and always in loop mode (the table starts again at its end)."""
        looping = self.table.loop_prog_n.storage
        moves   = looping | self.sink.valid | self.headers.source.valid | self.timing
        self.comb += self.busy.eq((self.enable & moves) | self.begun | self.account.waits)

def header_layout():
    """Returns the layout of the headers of writes. The data of a write with a header is all in the
    store. A header with `last` ends its descriptor."""
    return EndpointDescription([
        ("address", numbers.ADDRESS_WIDTH),
        # No data is written for the header: its c2h descriptor has no bytes, or the flush time
        # ended it between two pieces.
        ("none",    1),
        ("single",  1), # The write has a single beat.
        ("bytes",   bits_for(PIECE_BYTES)),
        ("message", 1), # Valid with `last`: the stream's `last` has ended the c2h descriptor.
        # Valid with `last`: the flush time has ended the c2h descriptor.
        ("flushed", 1),
        # Valid with `last`: the stream's `error` came with the stream's `last`, so the c2h
        # descriptor counts as failed.
        ("error",   1),
        *enables_layout(),
        *owner_layout(),
    ])
