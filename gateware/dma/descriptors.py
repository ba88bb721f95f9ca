# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""What both directions of the DMA have before them: the table of descriptors, and its pieces.

Table, registers and descriptors are LitePCIe's: its software sees no difference. A descriptor may
begin at any byte and have any number of bytes. On the stream its data begins on a beat of its own
and takes as many beats as its bytes need; what the last of them has beyond is not defined.
"""

from litepcie.frontend.dma import LitePCIeDMAScatterGather
from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from litex.soc.interconnect.stream import EndpointDescription
from migen import *

from lanebox import layouts

BEAT_BYTES  = layouts.DATA_WIDTH//8
PIECE_BYTES = layouts.LARGEST_PAYLOAD # The most that one request of the card asks for.
PIECE_BEATS = PIECE_BYTES//BEAT_BYTES
LENGTH_BITS = 24 # Of a descriptor: LitePCIe's.
EPOCH_BITS  = 2  # Of a count of table resets: what left the table before one is told by it.

# Table --------------------------------------------------------------------------------------------

def owner_layout():
    """What a piece says of its descriptor, for the end of it."""
    return [
        ("irq",   1),          # It wants an interrupt.
        ("round", 1),          # It is the table's first one, in loop mode.
        ("epoch", EPOCH_BITS), # See SettledTable.
    ]

class SettledTable(LitePCIeDMAScatterGather):
    """LitePCIe's table of descriptors, with a loop status that counts those which have ended.

    A descriptor belongs to the `epoch` in which it left the table. What was taken out before the
    table was emptied neither counts nor interrupts when it ends.
    """
    def __init__(self, depth, address_width):
        LitePCIeDMAScatterGather.__init__(self, depth, address_width)
        self.flush   = Signal()               # o, software empties the table.
        self.epoch   = Signal(EPOCH_BITS)     # o
        self.round   = Signal()               # o, what `source` shows begins a round of the table.
        self.done    = Signal()               # i, one cycle: a descriptor has ended,
        self.owner   = Record(owner_layout()) # i, and this is what its pieces say.
        self.counted = Signal()               # o, with done: it counts.
        self.irq     = Signal()               # o, with done: and wants an interrupt.
        self.settled = Signal(self.loop_status.size) # o, what software reads.

        # # #

        self.index, self.count = index, count = Signal(16), Signal(16)
        counting = Signal() # LitePCIe counts no round before the first one is over.
        self.comb += [
            self.flush.eq(self.reset.re & self.reset.storage),
            self.round.eq(self.loop_prog_n.storage & self.source.first),
            self.counted.eq(self.done & (self.owner.epoch == self.epoch) & ~self.flush),
            self.irq.eq(self.counted & self.owner.irq),
            self.settled.eq(Cat(index, count)),
        ]
        self.sync += [
            If(self.flush,
                self.epoch.eq(self.epoch + 1),
                counting.eq(0),
                index.eq(0),
                count.eq(0)
            ).Elif(self.counted,
                If(self.owner.round,
                    index.eq(0),
                    counting.eq(1),
                    count.eq(count + counting)
                ).Else(
                    index.eq(index + 1),
                    If(index == 2**len(index) - 1, count.eq(count + 1))
                )
            ),
        ]
        self.loop_status.status = self.settled # Of which LiteX makes the register in the end.

# Pieces -------------------------------------------------------------------------------------------

def _cut_layout():
    """Where a piece lies, and how long it is."""
    return [
        ("address", layouts.ADDRESS_WIDTH),
        ("bytes",   bits_for(PIECE_BYTES)),
        ("beats",   bits_for(PIECE_BEATS)), # Of the stream.
        ("left",    LENGTH_BITS),           # Bytes of the descriptor from here on.
    ]

def _kept_layout():
    """What all pieces of a descriptor have."""
    return [
        ("last_disable", 1), # LitePCIe's: the stream's `last` does not end the descriptor.
        *owner_layout(),
    ]

def piece_layout():
    """A part of a descriptor, with the dwords that its bytes touch as a request has them.

    `first` and `last` are those of the descriptor. `tail`: the dwords take a beat more than the
    bytes take of the stream. A descriptor of no bytes has one piece of none.
    """
    return EndpointDescription([*_cut_layout(), *_kept_layout(), *enables_layout()])

class DescriptorCutter(LiteXModule):
    """Descriptors out of the table, cut into pieces of `largest` bytes of the stream at most.

    A piece that begins inside a dword touches one dword more than its bytes need. It is a beat
    shorter, or its last dword would be a request of its own.

    A descriptor of one piece passes in each cycle, the pieces of others in each fourth: their data
    takes longer. The next descriptor's first piece is ready before it is needed. `terminate` drops
    what is left of a descriptor. Without `run` nothing is taken, and what was taken is dropped.
    """
    def __init__(self, table):
        self.source    = source = stream.Endpoint(piece_layout()) # o
        self.run       = Signal()                                 # i
        self.hold      = Signal()                                 # i, `source` stays without run.
        self.terminate = Signal()                                 # i, when `source` is taken.
        self.largest   = Signal(bits_for(PIECE_BYTES), reset=PIECE_BYTES) # i

        # # #

        self.shifted_largest = Signal(len(self.largest))
        self.sync += self.shifted_largest.eq(self.largest - BEAT_BYTES)
        self.add_ahead(table)
        self.add_rest()
        ahead, rest = self.ahead.source, self.rest
        self.waits  = Signal() # For the rest, which is next.
        taken, ended, loads = Signal(), Signal(), Signal()
        self.comb += [
            taken.eq(source.valid & source.ready),
            ended.eq(taken & (source.last | self.terminate)),
            loads.eq(ended | ~(source.valid | self.waits)),
            ahead.ready.eq(loads),
        ]
        self.sync += [
            self.rest_age.eq(Cat(1, self.rest_age)),
            If(loads,
                source.valid.eq(ahead.valid),
                self.cut_off(ahead, self.ahead_enables),
                [getattr(source, name).eq(getattr(ahead, name)) for name, _ in _kept_layout()],
                source.first.eq(1),
                self.rest_age.eq(0)
            ).Elif(taken | self.waits,
                source.valid.eq(self.rest_age[-1]),
                self.waits.eq(~self.rest_age[-1]),
                If(self.rest_age[-1],
                    self.cut_off(rest, self.rest_enables),
                    source.first.eq(0),
                    self.rest_age.eq(0)
                )
            ),
            If(~self.run & ~self.hold,
                source.valid.eq(0),
                self.waits.eq(0)
            ),
        ]

    def cut_off(self, piece, enables):
        """`source` becomes what `piece` is."""
        source = self.source
        return [
            *(getattr(source, name).eq(getattr(piece, name)) for name, _ in _cut_layout()),
            *(getattr(source, name).eq(getattr(enables, name)) for name, _ in enables_layout()),
            source.last.eq(piece.last),
        ]

    def measure(self, piece, address, length):
        """What `piece` takes of `length` bytes from `address` on."""
        most = Mux(address[:2] != 0, self.shifted_largest, self.largest)
        last = Signal()
        size = Signal(bits_for(PIECE_BYTES))
        self.comb += [
            last.eq(length <= most),
            size.eq(Mux(last, length, most)),
        ]
        return [
            piece.address.eq(address),
            piece.left.eq(length),
            piece.bytes.eq(size),
            piece.beats.eq((size + BEAT_BYTES - 1) >> log2_int(BEAT_BYTES)),
            piece.last.eq(last),
        ]

    def add_ahead(self, table):
        """The first piece of the next descriptor. When the table moves is a register's word."""
        layout     = EndpointDescription([*_cut_layout(), *_kept_layout()])
        self.ahead = ResetInserter()(stream.Buffer(layout, pipe_valid=True, pipe_ready=True))
        sink       = self.ahead.sink
        self.comb += [
            self.ahead.reset.eq(table.flush | ~self.run),
            sink.valid.eq(table.source.valid & self.run),
            table.source.ready.eq(sink.ready & self.run),
            self.measure(sink, table.source.address, table.source.length),
            sink.last_disable.eq(table.source.last_disable),
            sink.irq.eq(~table.source.irq_disable),
            sink.round.eq(table.round),
            sink.epoch.eq(table.epoch),
        ]
        self.ahead_enables = PieceEnables(self.ahead.source)

    def add_rest(self):
        """The piece behind `source`, which is right some cycles after it: `rest_age` counts."""
        source        = self.source
        address       = Signal(layouts.ADDRESS_WIDTH)
        length        = Signal(LENGTH_BITS)
        self.rest     = Record([*_cut_layout(), ("last", 1)])
        self.rest_age = Signal(2)
        self.sync += [
            address.eq(source.address + source.bytes),
            length.eq(source.left - source.bytes),
            self.measure(self.rest, address, length),
        ]
        self.rest_enables = PieceEnables(self.rest)

# Enables ------------------------------------------------------------------------------------------

def enables_layout():
    """A request's dwords, and which bytes of the outer two it means."""
    return [
        ("dwords", bits_for(PIECE_BYTES//4)), ("first_be", 4), ("last_be", 4),
        ("end", bits_for(PIECE_BEATS)), # Its last beat,
        ("tail", 1),                    # and whether that is one more than the stream's.
    ]

class PieceEnables(LiteXModule):
    """The fields of enables_layout() for the bytes of a piece; none count as one.

    As the base specification has it in 2.2.5: a single dword has first enables only.
    """
    def __init__(self, piece):
        for name, width in enables_layout():
            setattr(self, name, Signal(width, name=name)) # o

        # # #

        offset = piece.address[:2]
        behind = Signal(bits_for(PIECE_BYTES) + 1) # The last byte, from the first dword on.
        first, last, single = Signal(4), Signal(4), Signal()
        beats = Signal(bits_for(PIECE_BEATS))
        self.comb += [
            behind.eq(offset + Mux(piece.bytes == 0, 1, piece.bytes)),
            beats.eq(Mux(piece.bytes == 0, 1, piece.beats)),
            self.dwords.eq((behind + 3) >> 2),
            self.end.eq((behind - 1) >> log2_int(BEAT_BYTES)),
            self.tail.eq(self.end == beats),
            single.eq(behind <= 4),
            Case(offset, {n: first.eq(0xf & 0xf << n) for n in range(4)}),
            Case(behind[:2], {n: last.eq(last_dword(n)) for n in range(4)}),
            self.first_be.eq(Mux(single, first & last, first)),
            self.last_be.eq(Mux(single, 0, last)),
        ]

class ShortPiece(LiteXModule):
    """The same fields, and `bytes`, for a piece that ends earlier than its descriptor says.

    It has `beat` whole beats of the stream and, of the beat behind them, `count` bytes: 1 to 32, or
    0 if there is no such beat.
    """
    def __init__(self, offset, beat, count):
        for name, width in enables_layout():
            setattr(self, name, Signal(width, name=name))  # o
        self.bytes = Signal(bits_for(PIECE_BYTES))         # o

        # # #

        behind = Signal(bits_for(BEAT_BYTES + 3)) # The last byte, from the last whole beat on.
        dwords = Signal(bits_for(BEAT_BYTES//4 + 1))
        after  = Signal(bits_for(PIECE_BEATS))
        more, none, dword = Signal(), Signal(), Signal()
        first, last = Signal(4), Signal(4)
        self.comb += [
            behind.eq(offset + count),
            dwords.eq((behind + 3) >> 2),
            after.eq(beat + 1),
            none.eq(count == 0),
            more.eq(behind > BEAT_BYTES), # The turned bytes reach into a beat of their own.
            dword.eq((beat == 0) & ~none & (behind <= 4)),
            self.dwords.eq(Cat(dwords[:3], Mux(dwords[3], after, beat))),
            If(more,
                self.end.eq(after)
            ).Elif(behind == 0,
                self.end.eq(beat - 1)
            ).Else(
                self.end.eq(beat)
            ),
            self.tail.eq(Mux(none, behind != 0, more)),
            Case(offset,     {n: first.eq(0xf & 0xf << n) for n in range(4)}),
            Case(behind[:2], {n: last.eq(last_dword(n)) for n in range(4)}),
            self.first_be.eq(Mux(dword, first & last, first)),
            self.last_be.eq(Mux(dword, 0, last)),
            self.bytes.eq(Cat(count[:5], Mux(count[5], after, beat))),
        ]

def last_dword(count):
    """Enables of the last dword when `count` bytes of it are meant; 0 means all."""
    return (1 << count) - 1 if count else 0xf
