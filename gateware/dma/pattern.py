# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Generates and checks the pattern with which the DMA is measured without the user's logic: dword i
of a stream is i modulo 2^32, little endian."""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware.dma.bits import PATTERN_CONTROL
from gateware.numbers import COUNTER_WIDTH, DWORD_WIDTH, DWORDS_PER_BEAT
from gateware.vocabulary.layouts import stream_layout

LANE_BITS = log2_int(DWORDS_PER_BEAT)

def pattern_dwords(beat):
    """Returns the pattern's eight dwords of beat number `beat`. Dword n is 8*beat + n, no adder."""
    return [Cat(C(lane, LANE_BITS), beat) for lane in range(DWORDS_PER_BEAT)]

# The generator of the pattern ---------------------------------------------------------------------

class PatternGenerator(LiteXModule):
    """Sends the pattern instead of the sink's stream while it is enabled. The sink's stream stalls
    meanwhile.

    The pattern has no `last`, because `last` would end a DMA descriptor early. Beats are offered
    while `enable` and `run` are set. Each time both become set, the pattern starts at dword 0."""
    def __init__(self):
        self.sink   = sink   = stream.Endpoint(stream_layout()) # i
        self.source = source = stream.Endpoint(stream_layout()) # o
        self.enable = Signal() # i
        self.run    = Signal() # i

        # # #

        beat = Signal(DWORD_WIDTH - LANE_BITS)
        self.comb += If(self.enable,
            source.valid.eq(self.run),
            source.data.eq(Cat(*pattern_dwords(beat))),
        ).Else(
            sink.connect(source),
        )
        self.sync += If(source.ready, beat.eq(beat + 1))
        self.sync += If(~(self.enable & self.run), beat.eq(0))

# The checker of the pattern -----------------------------------------------------------------------

class PatternChecker(LiteXModule):
    """Takes every beat while it is enabled, compares it with the pattern, and counts beats and
    errors. While disabled, it passes the stream on unchanged.

    Each time the checker is enabled, the counts start again at 0. They stay readable after it is
    disabled. The counts are two cycles late."""
    def __init__(self):
        self.sink        = sink   = stream.Endpoint(stream_layout()) # i
        self.source      = source = stream.Endpoint(stream_layout()) # o
        self.enable      = Signal() # i
        self.beats       = Signal(COUNTER_WIDTH) # o, number of compared beats
        self.errors      = Signal(DWORD_WIDTH) # o, number of beats with a wrong dword
        self.first_error = Signal(COUNTER_WIDTH) # o, number of the first beat with a wrong dword

        # # #

        # A beat may come in the first cycle in which the checker is enabled, so `beat` must be 0
        # before that cycle.
        beat = Signal(DWORD_WIDTH - LANE_BITS)
        self.comb += If(self.enable,
            sink.ready.eq(1),
        ).Else(
            sink.connect(source),
        )
        self.sync += If(sink.valid, beat.eq(beat + 1))
        self.sync += If(~self.enable, beat.eq(0))

        # A beat is compared in two steps: its eight dwords, then their eight results.
        enabled  = Signal()
        compared = Signal()
        wrong    = Signal(DWORDS_PER_BEAT)
        self.sync += [
            enabled.eq(self.enable),
            compared.eq(self.enable & sink.valid),
        ]
        for lane, expected in enumerate(pattern_dwords(beat)):
            data = sink.data[lane*DWORD_WIDTH:(lane + 1)*DWORD_WIDTH]
            self.sync += wrong[lane].eq(data != expected)

        self.sync += [
            If(compared,
                self.beats.eq(self.beats + 1),
                If(wrong != 0,
                    # The count of wrong beats saturates: a count that wraps could return to 0 and
                    # look like no error.
                    If(self.errors != 2**DWORD_WIDTH - 1, self.errors.eq(self.errors + 1)),
                    If(self.errors == 0, self.first_error.eq(self.beats)),
                ),
            ),
            If(self.enable & ~enabled,
                self.beats.eq(0),
                self.errors.eq(0),
                self.first_error.eq(0),
            ),
        ]

# The pattern's stage before the user slot ---------------------------------------------------------

class Pattern(LiteXModule):
    """The stage between the DMA and the user slot that can put the pattern in place of the user's
    streams. At reset the pattern is off, and the stage passes both streams on without delay.

    Software should switch the pattern while the DMA is idle. A c2h beat that the user logic offers
    when the pattern is switched on stays with the user logic. An h2c beat that then waits for the
    user logic goes to the checker."""
    def __init__(self, with_csr=True):
        self.h2c = PatternChecker()
        self.c2h = PatternGenerator()

        self.h2c_sink   = self.h2c.sink   # i, h2c data from the DMA
        self.h2c_source = self.h2c.source # o, h2c data to the user slot
        self.c2h_sink   = self.c2h.sink   # i, c2h data from the user slot
        self.c2h_source = self.c2h.source # o, c2h data to the DMA

        # The DMA's c2h engine discards its stream while it is disabled. So the pattern starts only
        # when the engine runs, and dword 0 is the first that reaches the host.
        self.c2h_run = self.c2h.run       # i, the c2h engine runs.

        # # #

        if with_csr:
            self.add_csr()

    def add_csr(self):
        """Adds the registers of the generator and the checker."""
        self._control = CSRStorage(name="control", fields=[
            CSRField("c2h_generate", size=1, offset=PATTERN_CONTROL["c2h_generate"],
                description="Send the pattern instead of the user's stream, from dword 0 on."),
            CSRField("h2c_check", size=1, offset=PATTERN_CONTROL["h2c_check"],
                description="Consume and compare the stream instead of passing it to the user."),
        ])
        self._h2c_beats = CSRStatus(COUNTER_WIDTH, name="h2c_beats",
            description="Beats compared since ``h2c_check`` was set.")
        self._h2c_errors = CSRStatus(DWORD_WIDTH, name="h2c_errors",
            description="Beats of these with a wrong dword.")
        self._h2c_first_error = CSRStatus(COUNTER_WIDTH, name="h2c_first_error",
            description="Number of the first wrong beat, if there was one.")
        self.comb += [
            self.c2h.enable.eq(self._control.fields.c2h_generate),
            self.h2c.enable.eq(self._control.fields.h2c_check),
            self._h2c_beats.status.eq(self.h2c.beats),
            self._h2c_errors.status.eq(self.h2c.errors),
            self._h2c_first_error.status.eq(self.h2c.first_error),
        ]
