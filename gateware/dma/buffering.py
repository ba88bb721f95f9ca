# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A buffer in each direction between the DMA and the user's logic, with LitePCIe's registers.

Software sets how many bytes a buffer may hold. Software can read how many bytes are in the buffer
now, or (register field `level_mode`) the lowest (h2c) or highest (c2h) fill level since it last
wrote to the status register."""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware.numbers import DATA_WIDTH
from gateware.vocabulary.layouts import stream_layout

# Registers give a FIFO's depth and level in bytes. Shifted right by this number of bits they are in
# beats.
BEAT_BITS = log2_int(DATA_WIDTH//8)

# Registers of the FIFOs to the user slot ----------------------------------------------------------

def _control(name, extreme, size):
    return CSRStorage(name=f"{name.lower()}_fifo_control", fields=[
        CSRField("depth", offset=0, size=24, reset=size,
            description=f"DMA {name} FIFO depth (in {DATA_WIDTH}-bit words)."),
        CSRField("scratch", offset=24, size=4, description="Software Scratchpad."),
        CSRField("level_mode", offset=31, values=[
            ("``0b0``", "Report Instantaneous level."),
            ("``0b1``", f"Report `{extreme}` level since last clear."),
        ]),
    ])

def _status(name):
    return CSRStatus(name=f"{name.lower()}_fifo_status", fields=[
        CSRField("level", offset=0, size=24,
            description=f"DMA {name} FIFO level (in {DATA_WIDTH}-bit words)."),
    ])

# FIFOs between DMA and user slot ------------------------------------------------------------------

class StreamBuffer(LiteXModule):
    """A FIFO of `size` bytes between DMA and user logic for one direction, with its two registers
    `control` and `status`.

    With `lowest` the status register can keep the lowest fill level, otherwise the highest."""
    def __init__(self, size, control, status, lowest):
        self.sink   = stream.Endpoint(stream_layout()) # i
        self.source = stream.Endpoint(stream_layout()) # o
        self.held   = Signal()                         # o, at least one beat is in the FIFO.

        # # #

        self.fifo = fifo = stream.SyncFIFO(stream_layout(), size >> BEAT_BITS, buffered=True)
        self.comb += [
            self.sink.connect(fifo.sink, omit={"valid", "ready"}),
            If(fifo.level < control.fields.depth[BEAT_BITS:],
                self.sink.connect(fifo.sink, keep={"valid", "ready"})
            ),
            fifo.source.connect(self.source),
            self.held.eq(fifo.level != 0),
        ]

        extreme = Signal.like(fifo.level)
        none    = 2**len(extreme) - 1 if lowest else 0
        beyond  = fifo.level < extreme if lowest else fifo.level > extreme
        instant = control.fields.level_mode == 0
        self.sync += [
            If(beyond, extreme.eq(fifo.level)),
            If(status.re | instant, extreme.eq(none)),
        ]
        self.comb += status.fields.level[BEAT_BITS:].eq(Mux(instant, fifo.level, extreme))

class Buffering(LiteXModule):
    """The buffers of both directions, with `size` bytes each. The streams have LitePCIe's names:
    h2c goes from `sink` to `next_source`, c2h from `next_sink` to `source`."""
    def __init__(self, size):
        self.reader_fifo_control = _control("Reader", "Minimal", size)
        self.reader_fifo_status  = _status("Reader")
        self.writer_fifo_control = _control("Writer", "Maximal", size)
        self.writer_fifo_status  = _status("Writer")

        # # #

        self.h2c = StreamBuffer(size, self.reader_fifo_control, self.reader_fifo_status, True)
        self.c2h = StreamBuffer(size, self.writer_fifo_control, self.writer_fifo_status, False)
        self.sink,      self.next_source = self.h2c.sink, self.h2c.source
        self.next_sink, self.source      = self.c2h.sink, self.c2h.source
