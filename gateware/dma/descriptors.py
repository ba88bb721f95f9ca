# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Holds the table of DMA descriptors, and cuts descriptors into pieces, for both directions.

Table, registers and descriptors are those of LitePCIe, so LitePCIe's software sees no difference. A
descriptor may begin at any byte and have any number of bytes. On the stream a descriptor's data
begins with a new beat and takes as many beats as its bytes need. In the last beat, bytes behind the
descriptor's end are undefined."""

from litepcie.frontend.dma import LitePCIeDMAScatterGather
from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from litex.soc.interconnect.stream import EndpointDescription
from migen import *

from gateware import numbers

BEAT_BYTES  = numbers.BEAT_BYTES
# The most bytes of a piece, the part of a descriptor that one request to the host carries.
PIECE_BYTES = numbers.LARGEST_PAYLOAD
PIECE_BEATS = PIECE_BYTES//BEAT_BYTES
LENGTH_BITS = numbers.DESCRIPTOR_LENGTH_BITS
EPOCH_BITS  = 2 # Bits of the counter of table resets, `epoch`.

# The descriptor table -----------------------------------------------------------------------------

def owner_layout():
    """Returns the layout of a descriptor's fields that are needed when its last piece ends."""
    return [
        ("irq",   1), # The descriptor raises an interrupt when it ends.
        ("round", 1), # In loop mode, the descriptor begins a round of the table.
        ("epoch", EPOCH_BITS), # The table's number of resets when the descriptor left the table.
    ]

class SettledTable(LitePCIeDMAScatterGather):
    """LitePCIe's table of descriptors, but its register `loop_status` counts the descriptors that
    have ended. The register of LitePCIe's own table counts those that have left the table.

    A descriptor carries the `epoch` in which it left the table. If software has emptied the table
    since, the descriptor neither counts nor raises an interrupt when it ends."""
    def __init__(self, depth, address_width):
        LitePCIeDMAScatterGather.__init__(self, depth, address_width)
        self.flush   = Signal() # o, one cycle: software resets the table, which empties it.
        self.epoch   = Signal(EPOCH_BITS) # o, number of resets of the table so far, modulo 4.
        self.round   = Signal() # o, in loop mode: the descriptor at `source` is the table's first.
        self.done    = Signal() # i, one cycle: a descriptor has ended.
        self.owner   = Record(owner_layout()) # i, with `done`: fields of that descriptor.
        self.counted = Signal() # o, with `done`: the descriptor counts.
        self.irq     = Signal() # o, with `done`: it counts and raises an interrupt.
        # o, the value of `loop_status`: index in the table and, above it, rounds of the table.
        self.settled = Signal(self.loop_status.size)

        # # #

        self.index, self.count = index, count = Signal(16), Signal(16)
        # The first round of the table has begun, which LitePCIe's table does not count either.
        counting = Signal()
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
        # LiteX makes the register from this signal when the SoC is finalized.
        self.loop_status.status = self.settled

# Pieces of descriptors ----------------------------------------------------------------------------

def _cut_layout():
    """Returns the layout of a piece's address in host memory, its length and what is left."""
    return [
        ("address", numbers.ADDRESS_WIDTH),
        ("bytes",   bits_for(PIECE_BYTES)),
        ("beats",   bits_for(PIECE_BEATS)), # Number of the piece's beats on the stream.
        ("left",    LENGTH_BITS), # Number of the descriptor's bytes from this piece on.
    ]

def _kept_layout():
    """Returns the layout of the fields that have one value in all pieces of a descriptor."""
    return [
        ("last_disable", 1), # numbers.DESCRIPTOR_LAST_DISABLE
        *owner_layout(),
    ]

def piece_layout():
    """Returns the layout of a stream of descriptors' pieces. A piece has its bytes, and the request
    to the host that carries them.

    A request is for whole dwords, with byte enables. `first` and `last` mark the first and the last
    piece of a descriptor. `tail` says that the request's dwords take one beat more than the piece's
    bytes take on the stream. A descriptor of no bytes has one piece of no bytes."""
    return EndpointDescription([*_cut_layout(), *_kept_layout(), *enables_layout()])

class DescriptorCutter(LiteXModule):
    """Takes descriptors from the table and cuts them into pieces of at most `largest` bytes.

    A piece that begins inside a dword touches one dword more than its bytes need. So such a piece
    has at most a beat (32 bytes) less than `largest`. Otherwise the additional dword would become a
    TLP of its own.

    A descriptor of one piece takes one cycle. Pieces of a longer descriptor come in every fourth
    cycle, which is enough, since their data takes longer. The first piece of the next descriptor is
    ready before it is needed. While `run` is low nothing is taken from the table, and the pieces in
    the cutter are dropped."""
    def __init__(self, table):
        self.source    = source = stream.Endpoint(piece_layout()) # o
        self.run       = Signal() # i, the DMA engine runs.
        # i, the piece at `source` stays without `run`, since the endpoint has been offered it.
        self.hold      = Signal()
        # i, with `source` taken: the stream has ended the descriptor, so its rest is dropped.
        self.terminate = Signal()
        self.largest   = Signal(bits_for(PIECE_BYTES), reset=PIECE_BYTES)

        # # #

        self.shifted_largest = Signal(len(self.largest))
        self.sync += self.shifted_largest.eq(self.largest - BEAT_BYTES)
        self.add_ahead(table)
        self.add_rest()
        ahead, rest = self.ahead.source, self.rest
        self.waits  = Signal() # The descriptor's next piece is still being computed.
        taken, ended, loads = Signal(), Signal(), Signal()
        self.comb += [
            # No stream operator fits: a piece is computed while the one before is offered.
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
        """Returns the statements that load `source` with a piece and its byte enables."""
        source = self.source
        return [
            *(getattr(source, name).eq(getattr(piece, name)) for name, _ in _cut_layout()),
            *(getattr(source, name).eq(getattr(enables, name)) for name, _ in enables_layout()),
            source.last.eq(piece.last),
        ]

    def measure(self, piece, address, length):
        """Returns the statements that set `piece` to the first piece of `length` bytes from byte
        `address` on."""
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
        """Prepares the next descriptor's first piece, in registers, for a short path to `ready`."""
        layout     = EndpointDescription([*_cut_layout(), *_kept_layout()])
        self.ahead = ResetInserter()(stream.Buffer(layout, pipe_valid=True, pipe_ready=True))
        sink       = self.ahead.sink
        self.comb += [
            self.ahead.reset.eq(table.flush | ~self.run),
            # A gate: while the engine does not run, the table keeps its descriptors.
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
        """Computes the piece that follows the one in `source`. The computation takes some cycles
        from the loading of `source` on, which `rest_age` counts."""
        source        = self.source
        address       = Signal(numbers.ADDRESS_WIDTH)
        length        = Signal(LENGTH_BITS)
        self.rest     = Record([*_cut_layout(), ("last", 1)])
        self.rest_age = Signal(2)
        self.sync += [
            address.eq(source.address + source.bytes),
            length.eq(source.left - source.bytes),
            self.measure(self.rest, address, length),
        ]
        self.rest_enables = PieceEnables(self.rest)

# Byte enables of a piece's request ----------------------------------------------------------------

def enables_layout():
    """Returns the layout of the length and the byte enables of a piece's request."""
    return [
        ("dwords", bits_for(PIECE_BYTES//4)), ("first_be", 4), ("last_be", 4),
        ("end", bits_for(PIECE_BEATS)), # The number of the request's last beat, from 0 on.
        ("tail", 1), # The request has one beat more than the piece has on the stream.
    ]

class PieceEnables(LiteXModule):
    """Computes the fields of enables_layout() for a piece. A piece of no bytes is treated as a
    piece of one byte.

    A request of a single dword has only first byte enables (base specification 2.2.5)."""
    def __init__(self, piece):
        for name, width in enables_layout():
            setattr(self, name, Signal(width, name=name)) # o

        # # #

        offset = piece.address[:2]
        behind = Signal(bits_for(PIECE_BYTES) + 1) # The piece's end from its first dword, in bytes.
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
    """Computes the fields of enables_layout(), and `bytes`, for a piece that the stream ends early.

    The piece has `beat` whole beats of the stream and `count` bytes of the next beat: 1 to 32, or 0
    if no next beat belongs to it."""
    def __init__(self, offset, beat, count):
        for name, width in enables_layout():
            setattr(self, name, Signal(width, name=name))  # o
        self.bytes = Signal(bits_for(PIECE_BYTES))         # o

        # # #

        # The offset of the piece's end, in bytes from the start of its request's beat `beat`.
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
            # In the request, a piece's bytes are shifted by its offset in its first dword, 0 to 3
            # bytes. So shifted, they reach into one beat more.
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
    """Returns the byte enables of a last dword of which the first `count` bytes are valid (1 to 3);
    0 stands for all four."""
    return (1 << count) - 1 if count else 0xf
