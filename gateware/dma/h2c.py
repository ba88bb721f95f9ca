# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The h2c engine of a DMA channel: it reads the host buffers that a table of descriptors lists, and
gives their data as a stream, in the table's order.

A descriptor is done when its data has come to the card. Only then does `loop_status` count it, and
its interrupt is raised. Software may then fill its buffer again. LitePCIe's own engine reports a
descriptor when it has only asked for the data. So with LitePCIe's engine software must leave
buffers alone for longer, and this limits how much that engine may have in flight.

Unless its `last_disable` is set, a descriptor is a packet: its last beat has `last`, and `bytes`
says how many bytes of that beat are valid. If the host fails to give data, zeros come instead, the
endpoint counts the failed read, and the packet's `last` comes with `error`. For a descriptor of no
bytes the engine reads one byte, and one beat comes on the stream."""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware import numbers
from gateware.dma.descriptors import (
    BEAT_BYTES,
    PIECE_BEATS,
    PIECE_BYTES,
    DescriptorCutter,
    SettledTable,
    owner_layout,
)
from gateware.dma.notices import Account
from gateware.vocabulary import layouts

# The most read requests of h2c that may be in flight, including those that wait for a tag and those
# whose data waits for delivery.
MOST_REQUESTS = 2*numbers.READ_TAGS

class H2c(LiteXModule):
    """Reads the buffers of the table's descriptors through `port`, a master port of the endpoint.

        table ---> cutter ---> requests ---------------------> port.source
                                  |   ^
                          one for |   | room in `store`, reserved with the request
                     each request v   |
                               flight  claimed <---------------+
                                  |                            | a beat leaves
                                  v                            |
        port.sink ---> `held`, shifted to lane 0 ---> store ---+---> source
                                  |
                                  v
                          a descriptor is done: table, account (notices), irq

    At most `store_size` bytes are in flight or wait for the user. `account` collects what the
    channel's notices tell the host about h2c (notices.py).

    When the engine is disabled, it drops all data that it has asked for or that waits for the user.
    It comes to rest when no data is in flight and the notices of ended descriptors have left. Bit
    1 of its enable register says that it rests. It does not start again before it rests. Bit 2 says
    that no data is in flight or waits for the user, so disabling the engine then loses nothing."""
    def __init__(self, endpoint, port, account=None, store_size=numbers.DMA_STORE_SIZE):
        self.source = stream.Endpoint(layouts.stream_layout()) # o
        self.irq    = Signal() # o, one cycle: an interrupt for descriptors that are done.
        self.enable = Signal() # o, software has enabled the engine.
        self.busy   = Signal() # o, the h2c engine has work, so device time must run.

        self._enable = CSRStorage(3,
            description="Bit 0: run, and read the buffers of the table's descriptors. "
                "Bit 1 (read): no data is in flight, and the last status line has left the card. "
                "Bit 2 (read): no data is in flight or waits for the user.")
        self.table = SettledTable(numbers.DMA_TABLE_DEPTH, numbers.ADDRESS_WIDTH)

        # # #

        self.run     = Signal()
        self.idle    = Signal()
        self.depth   = store_size//BEAT_BYTES
        self.claimed = Signal(max=self.depth + 1) # Beats of the store in use or reserved.
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
        # If a read TLP fails, the data of its whole request is replaced by zeros. So a request is
        # made no larger than one read TLP, and no more data is lost than the host failed to give.
        largest = endpoint.phy.max_request_size
        self.sync += self.cutter.largest.eq(Mux(largest > PIECE_BYTES, PIECE_BYTES, largest))

        # `flight` holds the requests in flight, in the order in which the endpoint delivers their
        # data. `first` and `last` mark the first and last request of a descriptor. `tail` says that
        # the request's data comes in one beat more than it takes on the stream. `packet` says that
        # the request's last beat ends a packet.
        self.flight = stream.SyncFIFO([
            ("shift", 2), ("tail", 1), ("bytes", bits_for(PIECE_BYTES)), ("packet", 1),
            *owner_layout(),
        ], MOST_REQUESTS, buffered=True)

        # Room in the store is reserved when data is requested. So data never waits in the endpoint
        # for the user logic. If data waited there, interrupts would wait behind it.
        self.store = ResetInserter()(
            stream.SyncFIFO(layouts.stream_layout(), self.depth, buffered=True))

        self.account = account or Account()
        self.quiet   = Signal() # The h2c engine offers no read request, and none is in flight.
        self.comb   += self.idle.eq(self.quiet & ~self.account.waits)

        self.add_requests(endpoint.phy, port)
        self.add_data(port)
        self.add_counts(port)
        self.add_busy()

    def add_requests(self, phy, port):
        """Sends a request for each piece when the store has room for all of its data."""
        piece, request, flight = self.cutter.source, port.source, self.flight.sink
        beats, room, begins    = Signal(len(piece.beats)), Signal(), Signal()
        offered                = Signal() # A request was offered and not taken yet.
        self.comb += [
            beats.eq(Mux(piece.beats == 0, 1, piece.beats)),
            # No stream operator fits: an offered request stays, even if the room goes.
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
            # `room` is a cycle late, so another request may have begun meanwhile. So `room` asks
            # for room for two requests.
            room.eq((self.claimed <= self.depth - 2*PIECE_BEATS) &
                (self.flight.level < MOST_REQUESTS - 1)),
        ]

        # While `run` is low the h2c store is held empty, so no beat of it is in use or reserved.
        left = self.store.source.valid & self.store.source.ready
        self.sync += [
            self.claimed.eq(self.claimed + Mux(begins, beats, 0) - left),
            If(~self.run, self.claimed.eq(0)),
        ]

    def add_data(self, port):
        """Moves data from `port.sink` to `source`, shifted so that a descriptor begins in lane 0.

        While `run` is low data is dropped. A beat from the endpoint waits in `held`, because the
        stream's beat may end in the endpoint's next beat."""
        store, sink, flight = self.store, port.sink, self.flight.source
        self.held   = held = stream.Endpoint(layouts.stream_layout())
        self.failed = Signal() # The host failed to give data of the present descriptor,
        before = Signal()      # and in an earlier beat of it.
        # The request's additional beat (`tail`) comes from the endpoint, so the beat in `held` is
        # the request's last on the stream.
        ends   = Signal()
        # The beat in `held` is the last one of its request, and no additional beat (`tail`) comes.
        whole  = Signal()
        shift  = Signal(2)
        bytes  = Signal(numbers.STREAM_BYTES)
        # The beat in `held`, and behind it the first 3 bytes of the next beat.
        joined = Signal(numbers.DATA_WIDTH + 24)
        self.comb += [
            # By hand: one beat may need the next one to complete it, and neither side stalls. The
            # room in the store was reserved with the request.
            sink.ready.eq(1),
            store.reset.eq(~self.run),
            store.sink.valid.eq(held.valid & (whole | sink.valid | (shift == 0))),
            store.sink.first.eq(held.first),
            joined.eq(Cat(held.data, sink.dat[:24])),
            Case(shift, {n: store.sink.data.eq(joined[8*n:8*n + numbers.DATA_WIDTH])
                for n in range(4)}),
            store.source.connect(self.source),

            # For a descriptor of no bytes the engine has read one byte.
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
                # An additional last beat (`tail`) is not held: its first bytes complete the beat
                # in `held`, and the rest of it is not data of the host's buffer.
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
        """Counts descriptors: one is done when the last beat of its last request has come."""
        request, table, account = self.flight.source, self.table, self.account
        late = Signal()
        self.comb += [
            # By hand: one entry of `flight` belongs to all beats of a request's answer.
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
        """Drives `busy`: device time runs while the table has descriptors, and while data moves or
        waits for the user. In loop mode it always runs.

        A descriptor appears in the table only two cycles after its doorbell, so `busy` begins with
        the doorbell."""
        table, cutter = self.table, self.cutter
        rung = Signal()
        self.sync += rung.eq(table.we.re)
        self.comb += self.busy.eq(table.we.re | rung | ~self.quiet | self.account.waits |
            (self.enable & (table.loop_prog_n.storage | table.source.valid |
                cutter.ahead.source.valid | cutter.source.valid | cutter.waits |
                self.held.valid | (self.store.level != 0))))
