# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""An SPI master (mode 0): bytes, and transfers made of bytes.

Each direction has one data line, D00 to the flash and D01 from it. A flash may also send data on
both lines, the higher bit of each pair on D01; then the master does not drive D00."""

from litex.gen import *
from litex.soc.interconnect import stream
from migen import *

from gateware.card.gate import ADDRESS_BITS, LENGTH_BITS

# Cycles of half a period of SCK: the least number, and the width of the setting.
LEAST_HALF, HALF_BITS = 2, 5
LATE_BITS = 3
# Cycles for which CS# is high between two transfers: 64 ns at 250 MHz. Flashes ask for 50 ns.
GAP_CYCLES = 16

class SpiBytes(LiteXModule):
    """Shifts bytes out and in, highest bit first. SCK goes on without a gap while bytes come. A
    byte with `pairs` comes in on two lines, in four periods of SCK.

    `half` is half a period of SCK in cycles, at least LEAST_HALF. A bit from the flash is taken
    `late` + 1 cycles after SCK rose. The flash gave it out when SCK fell, half a period earlier,
    and it took the time of STARTUPE3, flash and board to arrive. With half = 2 and late = 3 at
    250 MHz that time may be from 8 to 24 ns."""
    def __init__(self):
        self.half = Signal(HALF_BITS, reset=LEAST_HALF) # i
        self.late = Signal(LATE_BITS, reset=3)          # i
        self.sink = sink = stream.Endpoint([("data", 8), ("pairs", 1)])
        self.received = Signal(8) # o
        self.valid    = Signal()  # o, one cycle: `received` is a new byte.
        self.idle     = Signal()  # o, all bits of all bytes have been sent and received.
        self.sck      = Signal()  # o
        self.mosi     = Signal()  # o
        self.lines    = Signal(2) # i, levels of the pins D00 and D01

        # # #

        half, left, bit = Signal(HALF_BITS), Signal(HALF_BITS), Signal(3)
        active, shift   = Signal(), Signal(8)
        turn, load      = Signal(), Signal()
        pairs, last     = Signal(), Signal()
        self.sync += If(self.half < LEAST_HALF, half.eq(LEAST_HALF)).Else(half.eq(self.half))
        self.comb += [
            turn.eq(active & (left == 0)),
            last.eq((bit[1:] == 3) & (bit[0] | pairs)),
            load.eq(~active | (turn & self.sck & last)),
            # By hand: a byte is taken when the one before has left, after eight or four periods of
            # SCK. The byte goes into `shift`, which no stream module has.
            sink.ready.eq(load),
            self.mosi.eq(shift[7]),
        ]
        self.sync += [
            If(active, left.eq(left - 1)),
            If(turn,
                left.eq(half - 1),
                self.sck.eq(~self.sck),
                If(self.sck,
                    bit.eq(bit + 1 + pairs),
                    shift.eq(shift << 1),
                    If(last, active.eq(0)),
                ),
            ),
            If(load & sink.valid,
                active.eq(1),
                left.eq(half - 1),
                shift.eq(sink.data),
                pairs.eq(sink.pairs),
            ),
        ]

        # A 1 wanders along `taps` for each rising edge of SCK. The bit is taken when the 1 passes
        # tap `late`. By then the next byte may have begun, so `kinds` goes along the same way and
        # says whether the bit is one of a pair.
        taps, tap   = Signal(2**LATE_BITS), Signal()
        kinds, kind = Signal(2**LATE_BITS), Signal()
        count       = Signal(3)
        self.comb += [tap.eq(taps >> self.late), kind.eq(kinds >> self.late)]
        self.sync += [
            taps.eq(Cat(turn & ~self.sck, taps)),
            kinds.eq(Cat(pairs, kinds)),
            self.valid.eq(tap & (count[1:] == 3) & (count[0] | kind)),
            If(tap,
                If(kind,
                    self.received.eq(Cat(self.lines, self.received)),
                ).Else(
                    self.received.eq(Cat(self.lines[1], self.received)),
                ),
                count.eq(count + 1 + kind),
            ),
        ]
        self.comb += self.idle.eq(~active & (taps == 0) & ~self.valid & ~sink.valid)

class SpiTransfer(LiteXModule):
    """Makes one transfer: CS# falls, opcode, address, dummy bytes and data follow, CS# rises.

    Data is `length` bytes that are sent (`writes`) or taken (`reads`). With `polls` bytes are taken
    until bit 0 of one is 0: such a transfer reads a flash's status until it is ready. `stop` ends a
    transfer that takes bytes, after the next byte. A transfer with `silent` has no CS#: only SCK
    moves."""
    def __init__(self):
        self.start   = Signal() # i, one cycle: begin a transfer, not in the cycle of `done`.
        self.stop    = Signal() # i
        self.silent  = Signal() # i, no CS#; `silent` to `length` describe the transfer until `done`
        self.opcode  = Signal(8)
        self.address = Signal(ADDRESS_BITS)
        self.address_bytes = Signal(3)
        self.dummies = Signal()
        self.reads   = Signal()
        self.pairs   = Signal() # With `reads` and a dummy byte: the data comes on two lines.
        self.writes  = Signal()
        self.polls   = Signal()
        self.length  = Signal(LENGTH_BITS)
        # o, number of the byte of data that is sent or that has come
        self.position = Signal(LENGTH_BITS)
        self.write_data = Signal(8) # i, the byte of data number `position`
        self.read_data  = Signal(8) # o
        self.read_valid = Signal()  # o
        self.done    = Signal()        # o, one cycle: the transfer has ended.
        self.cs_n    = Signal(reset=1) # o
        self.release = Signal()        # o, D00 must not be driven: the flash may drive it
        self.bytes   = SpiBytes()

        # # #

        sink = self.bytes.sink
        head, head_left, skip = Signal(48), Signal(3), Signal(3)
        left, gap = Signal(LENGTH_BITS), Signal(max=GAP_CYCLES)
        has_data  = Signal()
        arrived   = Signal()
        self.comb += [
            has_data.eq(self.reads | self.writes | self.polls),
            self.read_data.eq(self.bytes.received),
            arrived.eq(self.bytes.valid & (skip == 0)),
            self.read_valid.eq(arrived & (self.reads | self.polls)),
        ]
        self.sync += If(self.bytes.valid & (skip != 0), skip.eq(skip - 1))
        self.fsm = fsm = FSM(reset_state="WAIT")
        fsm.act("WAIT",
            If(self.start,
                If(self.address_bytes == 3,
                    NextValue(head, Cat(C(0, 16), self.address[:24], self.opcode)),
                ).Else(
                    NextValue(head, Cat(C(0, 8), self.address, self.opcode)),
                ),
                NextValue(head_left, self.address_bytes + self.dummies),
                NextValue(skip, self.address_bytes + self.dummies + 1),
                NextValue(left, self.length),
                NextValue(self.position, 0),
                NextValue(self.cs_n, self.silent),
                NextState("SEND-HEAD"),
            )
        )
        fsm.act("SEND-HEAD",
            sink.valid.eq(1),
            sink.data.eq(head[40:]),
            If(sink.ready,
                NextValue(head, head << 8),
                NextValue(head_left, head_left - 1),
                If(head_left == 0,
                    # This byte is the dummy, after which the flash drives the line.
                    NextValue(self.release, self.pairs),
                    If(has_data & (self.polls | (left != 0)),
                        NextState("MOVE-DATA"),
                    ).Else(
                        NextState("DRAIN"),
                    )
                )
            )
        )
        fsm.act("MOVE-DATA",
            sink.valid.eq(1),
            sink.pairs.eq(self.pairs),
            If(self.writes, sink.data.eq(self.write_data)),
            If(sink.ready,
                NextValue(left, left - 1),
                If(self.writes, NextValue(self.position, self.position + 1)),
                If(~self.polls & (left == 1), NextState("DRAIN")),
                If(self.stop & ~self.writes, NextState("DRAIN")),
            ),
            If(self.polls & arrived & ~self.read_data[0], NextState("DRAIN")),
        )
        fsm.act("DRAIN",
            NextValue(gap, GAP_CYCLES - 1),
            If(self.bytes.idle,
                NextValue(self.cs_n, 1),
                NextState("REST"),
            )
        )
        fsm.act("REST",
            NextValue(gap, gap - 1),
            If(gap == 0,
                NextValue(self.release, 0),
                self.done.eq(1),
                NextState("WAIT"),
            )
        )
        self.sync += If(self.read_valid & self.reads, self.position.eq(self.position + 1))
