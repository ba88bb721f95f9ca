# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Writes the notices of a DMA channel (records and status lines) to host memory, so that software
need not read registers.

A record describes one c2h descriptor that has ended. A status line says how far a direction (h2c or
c2h) has come. Both are little endian. Software sets their addresses while the direction rests.

The order on the port is data, record, status line, interrupt, so nothing is announced before it is
true. An interrupt that waits for a status line stands for all descriptors that have asked for one
since the status line before."""

from litex.gen import *
from litex.soc.interconnect.csr import *
from migen import *

from gateware import numbers
from gateware.dma.bits import NOTICES_CONTROL
from gateware.dma.descriptors import LENGTH_BITS, PIECE_BYTES
from gateware.endpoint.departure import Departure

# Layouts of records and status lines --------------------------------------------------------------

RECORD_FLAGS = numbers.RECORD_FLAGS

# Offsets in a record, in bytes. `bytes` and `flags` have 32 bits, `sequence` has 64. `sequence` is
# the number of the descriptor since the table was reset, from 1 on, so memory of zeros is no
# record. Record n is at the ring's base + 16*((n - 1) mod entries).
RECORD = {"bytes": 0, "flags": 4, "sequence": 8}
RECORD_SIZE = numbers.RECORD_BYTES

# Offsets in a status line, in bytes; all words have 64 bits. `buffers` is the number of descriptors
# that have ended since the table's reset, and `position` the bytes of all of them. `errors` is how
# many of them have failed, modulo 2^32: data was missing (h2c), or the stream's `error` came (c2h).
# `time` is device time.
STATUS_LINE = {"position": 0, "buffers": 8, "errors": 16, "time": 24}
STATUS_SIZE = numbers.STATUS_BYTES

# The ring in host memory holds 2 to the power of 4 to 16 records. The base of the ring is a
# multiple of its size in bytes. The address of a status line is a multiple of 32 bytes.
LEAST_ENTRIES = 4
MOST_ENTRIES  = 16

# While more data waits to be written, this many records are gathered into one write: 256 bytes, or
# 128 if the link's Max_Payload_Size allows no more.
BATCH       = numbers.RECORD_BATCH
SMALL_BATCH = 8

LINE_INTERVAL = numbers.STATUS_CYCLES

# Masks of the register `control`.
CONTROL = {name: 1 << bit for name, bit in NOTICES_CONTROL.items()}

# Accounts of the two directions -------------------------------------------------------------------

class Account(LiteXModule):
    """Counts the descriptors and bytes of a DMA direction since its table was reset, and says
    whether its status line is due.

    A descriptor comes in pieces and counts as a whole, with its last piece. The direction's engine
    (H2c or C2h) drives the inputs. Signals without `i` or `o` are between Account and Notices."""
    def __init__(self):
        # i, one cycle: a piece of a descriptor has ended. `bytes` and `last` are valid with it.
        self.piece    = Signal()
        self.bytes    = Signal(bits_for(PIECE_BYTES))
        self.last     = Signal() # i, the piece is its descriptor's last.
        self.counted  = Signal() # i, one cycle: a descriptor ends and counts.
        self.failed   = Signal() # i, with `counted`: the descriptor failed.
        self.irq      = Signal() # i, with `counted`: the descriptor wants an interrupt.
        self.clear    = Signal() # i, one cycle: the descriptor table and all counts are reset.
        # i, the direction's engine does not run, so the bytes of a descriptor that has not ended
        # are forgotten.
        self.drop     = Signal()
        self.quiet    = Signal()                      # i, no data of the direction is in flight.

        self.length   = Signal(LENGTH_BITS) # o, bytes of the last descriptor that counted.
        self.position = Signal(64)          # o, bytes of all descriptors that counted.
        self.buffers  = Signal(64)          # o, number of descriptors that counted.
        self.errors   = Signal(32)          # o, number of counted descriptors that failed.

        self.lines    = Signal() # Software has turned on the direction's status line.
        # The direction has notices, so its interrupts wait until the notices before them are
        # written.
        self.tells    = Signal()
        # A descriptor that has ended wants an interrupt, which was not sent yet.
        self.wanted   = Signal()
        # One cycle: the interrupt is sent behind the records, as the direction has no status line.
        self.answered = Signal()
        self.due      = Signal() # A descriptor has ended since the last status line.
        # A status line is due and must be written now: an interrupt waits for it, no data is in
        # flight, or LINE_INTERVAL has passed.
        self.go       = Signal()
        self.told     = Signal() # One cycle: the next status line takes the present counts.
        # The notice of an ended descriptor is not written yet, or a write of this direction of the
        # DMA has not left the card.
        self.waits    = Signal()
        # The writes of the direction: c2h's data and notices, or h2c's status lines.
        self.departure = Departure()
        self.told_irq = Signal() # One cycle: the interrupt that waited for notices is raised.

        # # #

        # Bytes of those pieces of the present descriptor that have ended.
        before = Signal(LENGTH_BITS)
        total  = Signal(LENGTH_BITS)
        age    = Signal(max=LINE_INTERVAL)
        old    = Signal()
        still  = Signal() # In the cycle before, no data of the direction was in flight.
        self.comb += [
            total.eq(before + self.bytes),
            self.go.eq(self.due & (self.wanted | still | old)),
        ]
        self.sync += [
            still.eq(self.quiet),
            If(self.piece, before.eq(Mux(self.last, 0, total))),
            If(self.drop, before.eq(0)),
            If(self.told,
                self.due.eq(0),
                age.eq(0),
                old.eq(0)
            ).Elif(~old,
                age.eq(age + 1),
                old.eq(age == LINE_INTERVAL - 2)
            ),
            If(self.told | self.answered, self.wanted.eq(0)),
            If(self.counted,
                self.length.eq(total),
                self.position.eq(self.position + total),
                self.buffers.eq(self.buffers + 1),
                self.errors.eq(self.errors + self.failed),
                If(self.lines, self.due.eq(1)),
                If(self.irq & self.tells, self.wanted.eq(1))
            ),
            If(self.clear,
                self.position.eq(0),
                self.buffers.eq(0),
                self.errors.eq(0),
                self.due.eq(0),
                self.wanted.eq(0)
            ),
        ]

# The writer of notices ----------------------------------------------------------------------------

# In each of the two memories of `Notices`, rows 0 to 7 hold records, and row LINE holds a status
# line.
LINE = 8

# Values of `which`, the contents of the present write on the port. 0 is data.
RECORDS, C2H_LINE, H2C_LINE = 1, 2, 3

class Notices(LiteXModule):
    """Writes records and status lines between the writes of c2h's data, on the same port.

    `hold` stops new writes of data. It is set when records wait but no data is ready, and when a
    status line must wait no longer. It is also set when a write of data ends a descriptor after
    which notices must go before more data. A write of data that has begun ends first. Data goes on
    when all notices that were due have gone."""
    def __init__(self, phy, c2h, h2c):
        # Software sets these inputs through NoticeRegisters, except `time`.
        self.records = Signal()   # i, the card writes a record for each c2h descriptor.
        self.base    = Signal(64) # i, host address of the ring of records.
        self.entries = Signal(5)  # i, the ring has 2 to this power of records.
        # i, host addresses of the two status lines.
        self.places  = {"c2h": Signal(64), "h2c": Signal(64)}
        self.time    = Signal(64) # i, device time in cycles.

        # The c2h engine drives these inputs.
        self.flags   = Signal(3) # i, flags for the record of the descriptor that counts now.
        self.counts  = Signal() # i, the present write of data ends a descriptor that will count.
        self.asks    = Signal() # i, with `counts`: that c2h descriptor wants an interrupt.
        self.run     = Signal() # i, the c2h engine runs.
        self.more    = Signal() # i, a write of c2h data is ready to begin.
        self.begun   = Signal() # i, a write of c2h data has begun and not ended.

        # The write of a notice, which is offered to the c2h engine's port until `done`.
        self.hold    = Signal()  # o, no write of c2h data may begin.
        self.valid   = Signal()  # o, the write of a notice is offered.
        self.dwords  = Signal(7) # o, length of the notice's write in dwords.
        self.end     = Signal(3) # o, number of the last beat of the notice's write, from 0.
        self.beat    = Signal(3) # i, number of the notice's beat that is on the port.
        self.data    = Signal(numbers.DATA_WIDTH) # o, data of the notice's beat number `beat`.
        self.done    = Signal() # i, one cycle: the endpoint has taken the whole notice.

        # # #

        # A tuple, because the Accounts are submodules of their engines: LiteX would make attributes
        # that are modules submodules of Notices, too.
        self.accounts = c2h, h2c
        self.small = Signal() # Max_Payload_Size allows no more than SMALL_BATCH records.
        self.sync += self.small.eq(phy.max_payload_size < RECORD_SIZE*BATCH)
        self.add_batch()
        self.add_turns()
        self.add_data()
        self.add_place()

    def add_batch(self):
        """Gathers records into a batch, which becomes one write to host memory. A record is made in
        the cycle after its descriptor has counted.

        A batch ends where the next record's place in the ring is a multiple of a full batch. So no
        batch crosses 4 KiB or the end of the ring."""
        c2h, h2c     = self.accounts
        self.ended   = Signal() # The record of a c2h descriptor is stored in this cycle.
        self.record  = Signal(3) # Flags of that record.
        self.count   = Signal(max=BATCH + 1) # Records gathered for the next write.
        # Number of the batch's first record since the table's reset, modulo 2^16.
        self.first   = Signal(MOST_ENTRIES)
        self.place   = Signal(MOST_ENTRIES) # Place in the ring of the batch's first record.
        self.last    = Signal(3)            # Number of the beat that holds the batch's last record.
        self.full    = Signal() # Notices must be written behind the present write of data.
        self.pending = Signal() # At least one record waits to be written.
        self.batched = Signal() # One cycle: the batch of records has been written.
        place, fills = Signal(MOST_ENTRIES), Signal()
        self.comb += [
            c2h.tells.eq(self.records | c2h.lines),
            h2c.tells.eq(h2c.lines),
            fills.eq((c2h.buffers[:3] == SMALL_BATCH - 1) & (c2h.buffers[3] | self.small)),
            self.full.eq(self.counts & (
                (self.records & fills) | (self.asks & c2h.tells))),
            self.pending.eq(self.ended | (self.count != 0)),
        ]
        self.sync += [
            self.ended.eq(c2h.counted & self.records),
            If(c2h.counted,
                self.record.eq(self.flags),
                place.eq(c2h.buffers)
            ),
            If(self.ended,
                If(self.count == 0, self.first.eq(place)),
                self.last.eq(self.count >> 1),
                self.count.eq(self.count + 1)
            ),
            If(self.batched, self.count.eq(0)),
            # When software empties the table, the batch is dropped, unless a notice is already
            # offered as a write.
            If(c2h.clear & ~self.valid, self.count.eq(0)),
        ]

    def add_turns(self):
        """Chooses which notice is written: records first, then the status line of c2h, then that of
        h2c. A notice that is not due is left out.

        After a reset of the table, no notice about descriptors from before the reset is begun."""
        c2h, h2c = self.accounts
        # `idle` is set if no record waits, or if more c2h data is ready, so that more records may
        # be gathered.
        idle, asked = Signal(), Signal()
        self.comb  += idle.eq(~self.pending | (self.more & self.run))
        self.which  = Signal(2)
        self.fsm = fsm = FSM(reset_state="DATA")
        # All notices that were due are written, so `hold` ends and data may be written again.
        free     = Signal()
        back     = [free.eq(1), NextState("DATA")]
        to_h2c   = If(h2c.go, NextState("H2C-MOVED")).Else(*back)
        to_lines = If(c2h.go, NextState("C2H-MOVED")).Else(to_h2c)
        fsm.act("DATA",
            # While `more` is low no write of c2h data is ready, so none begins in the cycle in
            # which the write of a notice is prepared.
            If(~self.begun & (self.hold | ~self.more) & ~c2h.clear,
                If(self.pending,
                    NextValue(self.valid, 1),
                    NextValue(self.which, RECORDS),
                    NextState("RECORDS")
                ).Else(
                    to_lines
                )
            )
        )
        fsm.act("RECORDS",
            If(self.done,
                NextValue(self.valid, 0),
                NextValue(self.which, 0),
                self.batched.eq(1),
                If(~c2h.lines,
                    c2h.answered.eq(1),
                    c2h.told_irq.eq(c2h.wanted & ~c2h.clear)
                ),
                to_lines
            )
        )
        for name, account, which, then in (
            ("C2H", c2h, C2H_LINE, to_h2c),
            ("H2C", h2c, H2C_LINE, back),
        ):
            fsm.act(f"{name}-MOVED",
                account.told.eq(1),
                NextValue(asked, account.wanted),
                # If software emptied the direction's table a cycle ago, its status line is no
                # longer due.
                If(account.clear | ~account.due, *back).Else(NextState(f"{name}-ERRORS"))
            )
            fsm.act(f"{name}-ERRORS",
                If(account.clear, *back).Else(
                    NextValue(self.valid, 1),
                    NextValue(self.which, which),
                    NextState(f"{name}-LINE")
                )
            )
            fsm.act(f"{name}-LINE",
                If(account.clear, NextValue(asked, 0)),
                If(self.done,
                    NextValue(self.valid, 0),
                    NextValue(self.which, 0),
                    account.told_irq.eq(asked & ~account.clear),
                    then
                )
            )
        self.sync += self.hold.eq(Mux(self.hold, ~free, self.full | ~idle | c2h.go | h2c.go))
        self.comb += [
            c2h.waits.eq(self.pending | c2h.due | c2h.wanted | c2h.departure.leaving |
                fsm.ongoing("C2H-ERRORS") | fsm.ongoing("C2H-LINE")),
            h2c.waits.eq(h2c.due | h2c.wanted | h2c.departure.leaving |
                fsm.ongoing("H2C-ERRORS") | fsm.ongoing("H2C-LINE")),
        ]

    def add_data(self):
        """Stores the notices' data, in halves of a beat, 16 bytes each. A record is one half. A
        status line is two halves; the second one is stored a cycle after the first.

        A status line's count of errors is taken together with its first half, so that both halves
        tell of the same moment."""
        c2h, h2c     = self.accounts
        fsm          = self.fsm
        lower, upper = Signal(64), Signal(64)
        errors       = Signal(32)
        ours, theirs = fsm.ongoing("C2H-MOVED"), fsm.ongoing("H2C-MOVED")
        # `part` says what is stored in this cycle. 0: a record; 1: the first half of c2h's status
        # line; 2: the first half of h2c's; 3: the second half of a status line.
        part         = Signal(2)
        first        = Signal() # The lower half of a notice's beat is stored in this cycle.
        second       = Signal() # The upper half of a notice's beat is stored in this cycle.
        place        = Signal(4) # Row of the memories in which the beat is stored.
        self.comb += [
            If(ours, part.eq(1)),
            If(theirs, part.eq(2)),
            If(fsm.ongoing("C2H-ERRORS") | fsm.ongoing("H2C-ERRORS"), part.eq(3)),
            Case(part, {
                0: lower.eq(Cat(c2h.length, Signal(32 - LENGTH_BITS), self.record)),
                1: lower.eq(c2h.position),
                2: lower.eq(h2c.position),
                3: lower.eq(errors),
            }),
            Case(part, {
                0: upper.eq(c2h.buffers),
                1: upper.eq(c2h.buffers),
                2: upper.eq(h2c.buffers),
                3: upper.eq(self.time),
            }),
            first.eq(ours | theirs | (self.ended & ~self.count[0])),
            second.eq(Mux(part == 3, 1, self.ended & self.count[0])),
            place.eq(Mux(self.ended, self.count >> 1, LINE)),
        ]
        self.sync += If(part[0] != part[1], errors.eq(Mux(ours, c2h.errors, h2c.errors)))
        shown = Mux(self.which == RECORDS, self.beat, LINE)
        for n, enable in enumerate((first, second)):
            memory = Memory(128, 2*LINE)
            write  = memory.get_port(write_capable=True)
            read   = memory.get_port(async_read=True)
            self.specials += memory, write, read
            self.comb += [
                write.adr.eq(place),
                write.dat_w.eq(Cat(lower, upper)),
                write.we.eq(enable),
                read.adr.eq(shown),
                self.data[128*n:128*(n + 1)].eq(read.dat_r),
            ]

    def add_place(self):
        """Computes the place of the batch in the ring, which the base (a multiple of the ring's
        size) is ORed with, and the length of a notice's write."""
        self.comb += [
            [self.place[n].eq(self.first[n] & (self.entries > n if n >= LEAST_ENTRIES else 1))
                for n in range(MOST_ENTRIES)],
            self.dwords.eq(STATUS_SIZE//4),
            If(self.which == RECORDS,
                self.dwords.eq(Cat(Signal(2), self.count)),
                self.end.eq(self.last)
            ),
        ]

    def address(self, data):
        """Returns a signal with the host address of the write on the port, and the statement that
        drives the signal. A write of data has the address `data`, a notice has its own."""
        address = Signal(len(data))
        return address, Case(self.which, {
            0:        address.eq(data),
            RECORDS:  address.eq(self.base | Cat(Signal(log2_int(RECORD_SIZE)), self.place)),
            C2H_LINE: address.eq(self.places["c2h"]),
            H2C_LINE: address.eq(self.places["h2c"]),
        })

# Registers of notices -----------------------------------------------------------------------------

class NoticeRegisters(LiteXModule):
    """The registers with which software sets the notices of both directions, and the flush time of
    c2h. After reset notices and flush time are off."""
    def __init__(self, c2h):
        self.writer_records_base = CSRStorage(64,
            description="Host address of the ring of records: a multiple of its size in bytes.")
        self.writer_records_entries = CSRStorage(5, reset=LEAST_ENTRIES,
            description="The ring of records has 2 to this power of records: "
                f"{LEAST_ENTRIES} to {MOST_ENTRIES}.")
        self.writer_status_base = CSRStorage(64,
            description=f"Host address of the status line of c2h: a multiple of {STATUS_SIZE}.")
        self.reader_status_base = CSRStorage(64,
            description=f"Host address of the status line of h2c: a multiple of {STATUS_SIZE}.")
        self.writer_flush = CSRStorage(32,
            description="Cycles without data after which c2h ends a buffer that is partly filled; "
                "0: c2h never ends it.")
        self.control = CSRStorage(fields=[
            CSRField(name, size=1, offset=bit, description=about)
            for (name, bit), about in zip(NOTICES_CONTROL.items(), (
                "Write a record for each c2h descriptor that has ended.",
                "Write the status line of c2h.",
                "Write the status line of h2c.",
            ))])

        # # #

        notices   = c2h.notices
        ours, h2c = notices.accounts
        self.comb += [
            notices.base.eq(self.writer_records_base.storage),
            notices.entries.eq(self.writer_records_entries.storage),
            notices.places["c2h"].eq(self.writer_status_base.storage),
            notices.places["h2c"].eq(self.reader_status_base.storage),
            notices.records.eq(self.control.fields.c2h_records),
            ours.lines.eq(self.control.fields.c2h_status),
            h2c.lines.eq(self.control.fields.h2c_status),
            c2h.flush_time.eq(self.writer_flush.storage),
        ]
