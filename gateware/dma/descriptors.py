# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The table of descriptors, and how descriptors are cut into pieces, for both directions.

Table, registers and descriptors are LitePCIe's, so its software sees no difference. A descriptor
may begin at any byte and have any number of bytes. On the stream its data begins with a new beat
and takes as many beats as its bytes need. Bytes of the last beat behind the end are undefined.
"""

from litepcie.frontend.dma import LitePCIeDMAScatterGather
from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from litex.soc.interconnect.stream import EndpointDescription
from migen import *

from lanebox import layouts

BEAT_BYTES  = layouts.DATA_WIDTH//8
PIECE_BYTES = layouts.LARGEST_PAYLOAD # The most that one request of the card may ask for.
PIECE_BEATS = PIECE_BYTES//BEAT_BYTES
LENGTH_BITS = 24 # LitePCIe's descriptors have so many bits of length.
# Bits of a counter of table resets. It marks descriptors that left the table before a reset.
EPOCH_BITS  = 2

# Table --------------------------------------------------------------------------------------------

def owner_layout():
    """Fields of a descriptor that its pieces carry: they are needed when it ends."""
    return [
        ("irq",   1),          # The descriptor wants an interrupt.
        ("round", 1),          # In loop mode: it is the first descriptor of the table.
        ("epoch", EPOCH_BITS), # See SettledTable.
    ]

class SettledTable(LitePCIeDMAScatterGather):
    """LitePCIe's table of descriptors, with a loop status that counts descriptors which have ended.

    A descriptor carries the `epoch` in which it left the table. If software has emptied the table
    since, the descriptor neither counts nor interrupts when it ends.
    """
    def __init__(self, depth, address_width):
        LitePCIeDMAScatterGather.__init__(self, depth, address_width)
        self.flush   = Signal()               # o, software empties the table.
        self.epoch   = Signal(EPOCH_BITS)     # o
        # o, the descriptor at `source` begins a round of the table.
        self.round   = Signal()
        self.done    = Signal()               # i, one cycle: a descriptor has ended.
        self.owner   = Record(owner_layout()) # i, with done: the fields that its pieces carry.
        self.counted = Signal()               # o, with done: the descriptor counts.
        self.irq     = Signal()               # o, with done: it counts and wants an interrupt.
        self.settled = Signal(self.loop_status.size) # o, what software reads.

        # # #

        self.index, self.count = index, count = Signal(16), Signal(16)
        counting = Signal() # Like LitePCIe: no round counts before the first is over.
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
        # LiteX makes the register of this when the SoC is finalized.
        self.loop_status.status = self.settled

# Pieces -------------------------------------------------------------------------------------------

def _cut_layout():
    """Where a piece begins, and how long it is."""
    return [
        ("address", layouts.ADDRESS_WIDTH),
        ("bytes",   bits_for(PIECE_BYTES)),
        ("beats",   bits_for(PIECE_BEATS)), # Of the stream.
        ("left",    LENGTH_BITS),           # Bytes of the descriptor, from this piece on.
    ]

def _kept_layout():
    """Fields that are the same in all pieces of a descriptor."""
    return [
        ("last_disable", 1), # LitePCIe's: the stream's `last` does not end the descriptor.
        *owner_layout(),
    ]

def piece_layout():
    """A part of a descriptor: its bytes, and the request of whole dwords that holds them.

    `first` and `last`: the first and last piece of the descriptor. `tail`: the request's dwords
    take one beat more than the bytes take on the stream. A descriptor of no bytes has one piece of
    no bytes.
    """
    return EndpointDescription([*_cut_layout(), *_kept_layout(), *enables_layout()])

class DescriptorCutter(LiteXModule):
    """Takes descriptors from the table and cuts them into pieces of at most `largest` bytes.

    A piece that begins inside a dword touches one dword more than its bytes need. It is made a beat
    shorter, or that last dword would become a request of its own.

    Descriptors of one piece pass one per cycle; other pieces come in every fourth cycle, since
    their data takes longer. The next descriptor's first piece is ready before it is needed.
    `terminate` drops the rest of a descriptor. Without `run` nothing is taken from the table, and
    pieces in here are dropped.
    """
    def __init__(self, table):
        self.source    = source = stream.Endpoint(piece_layout()) # o
        self.run       = Signal()                                 # i
        # i, keep `source` even without `run`.
        self.hold      = Signal()
        # i, with `source` taken: drop the rest.
        self.terminate = Signal()
        self.largest   = Signal(bits_for(PIECE_BYTES), reset=PIECE_BYTES) # i

        # # #

        self.shifted_largest = Signal(len(self.largest))
        self.sync += self.shifted_largest.eq(self.largest - BEAT_BYTES)
        self.add_ahead(table)
        self.add_rest()
        ahead, rest = self.ahead.source, self.rest
        self.waits  = Signal() # `source` is empty and waits for `rest`.
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
        """Statements that load `source` with `piece` and its `enables`."""
        source = self.source
        return [
            *(getattr(source, name).eq(getattr(piece, name)) for name, _ in _cut_layout()),
            *(getattr(source, name).eq(getattr(enables, name)) for name, _ in enables_layout()),
            source.last.eq(piece.last),
        ]

    def measure(self, piece, address, length):
        """Statements that set `piece` to the first piece of `length` bytes from `address` on."""
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
        """Prepares the first piece of the next descriptor. Registers cut the way back to the
        table's `ready`.
        """
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
        """Computes the piece after `source`. It is right some cycles after `source` was loaded:
        `rest_age` counts them.
        """
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
    """The dwords of a request, and the byte enables of the first and the last of them."""
    return [
        ("dwords", bits_for(PIECE_BYTES//4)), ("first_be", 4), ("last_be", 4),
        ("end", bits_for(PIECE_BEATS)), # Number of the last beat.
        ("tail", 1),                    # That is one beat more than on the stream.
    ]

class PieceEnables(LiteXModule):
    """The fields of enables_layout() for a piece. A piece of no bytes counts as one of one byte.

    A single dword has only first enables (base specification 2.2.5).
    """
    def __init__(self, piece):
        for name, width in enables_layout():
            setattr(self, name, Signal(width, name=name)) # o

        # # #

        offset = piece.address[:2]
        # End of the piece, in bytes from its first dword on.
        behind = Signal(bits_for(PIECE_BYTES) + 1)
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
    """The fields of enables_layout(), and `bytes`, for a piece that ends early.

    The piece has `beat` whole beats of the stream and `count` bytes of the next beat: 1 to 32, or 0
    if there is no such beat.
    """
    def __init__(self, offset, beat, count):
        for name, width in enables_layout():
            setattr(self, name, Signal(width, name=name))  # o
        self.bytes = Signal(bits_for(PIECE_BYTES))         # o

        # # #

        # End of the piece, in bytes from the last beat on.
        behind = Signal(bits_for(BEAT_BYTES + 3))
        dwords = Signal(bits_for(BEAT_BYTES//4 + 1))
        after  = Signal(bits_for(PIECE_BEATS))
        more, none, dword = Signal(), Signal(), Signal()
        first, last = Signal(4), Signal(4)
        self.comb += [
            behind.eq(offset + count),
            dwords.eq((behind + 3) >> 2),
            after.eq(beat + 1),
            none.eq(count == 0),
            # Shifted by the offset, the bytes reach into one beat more.
            more.eq(behind > BEAT_BYTES),
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
    """Byte enables of the last dword if `count` of its bytes are valid; 0 stands for all four."""
    return (1 << count) - 1 if count else 0xf
