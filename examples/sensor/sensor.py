# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Logic for the user slot: a sensor whose measurements are captured as frames.

The sensor sends a frame every `user_period` cycles while `user_run` is on. A frame has 44 bytes,
little endian: its number, 32 bits, and 20 samples of 16 bits. The samples are a sawtooth that goes
on from frame to frame; put your own in its place. If the capture block does not take a frame in
time, the sensor leaves the next one out, counts it in `user_missed`, and its number is missing.

A build with this logic has the capture block, since it has `frames`.
"""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware.vocabulary.layouts import stream_layout

SAMPLE_BITS = 16
STEP        = 97                                        # from one sample to the next
FIRST       = 14                                        # samples of the first beat of a frame
SECOND      = 6                                         # samples of the second one
SAMPLES     = FIRST + SECOND

class Sensor(LiteXModule):
    """Sends a frame of samples every `period` clock cycles while the register `run` is 1."""
    def __init__(self, platform):
        self.sink    = sink = stream.Endpoint(stream_layout())     # i: h2c, which is dropped
        self.source  = stream.Endpoint(stream_layout())            # o: c2h, which is not used
        self.frames  = frames = stream.Endpoint(stream_layout())   # o: frames for the capture block
        self.irq     = Signal()                                    # o
        self.busy    = Signal()                                    # o: high: device time must run
        self.run     = CSRStorage(1, description="Send frames, from number 0 on.")
        self.period  = CSRStorage(32, reset=2500, description="Cycles from frame to frame.")
        self.missed  = CSRStatus(32, description="Frames that had to be left out.")

        # # #

        self.comb += [sink.ready.eq(1), self.busy.eq(self.run.storage | frames.valid)]

        # Time -------------------------------------------------------------------------------------

        due   = Signal() # A frame is to be sent now.
        timer = Signal(32)
        self.comb += due.eq(self.run.storage & (timer == 0))
        self.sync += If(due, timer.eq(self.period.storage - 1)
            ).Elif(timer != 0, timer.eq(timer - 1))

        # Samples ----------------------------------------------------------------------------------

        number = Signal(32)
        base   = Signal(SAMPLE_BITS) # The first sample of the frame.
        second = Signal()            # The second beat of a frame is offered.
        sample = [Signal(SAMPLE_BITS) for _ in range(SAMPLES)]
        self.comb += [each.eq(base + i*STEP) for i, each in enumerate(sample)]
        self.comb += If(second,
            frames.data.eq(Cat(*sample[FIRST:])),
            frames.bytes.eq(SECOND*SAMPLE_BITS//8),
            frames.last.eq(1),
        ).Else(
            frames.data.eq(Cat(number, *sample[:FIRST])),
        )

        # Frames -----------------------------------------------------------------------------------

        # A beat that is offered stays until it is taken, so a frame that is late goes on.
        next_number = Signal(32)
        next_base   = Signal(SAMPLE_BITS)
        taken       = Signal()
        self.comb += taken.eq(frames.valid & frames.ready)
        self.sync += [
            If(taken, second.eq(~second), If(second, frames.valid.eq(0))),
            If(due,
                next_number.eq(next_number + 1),
                next_base.eq(next_base + SAMPLES*STEP),
                If(frames.valid,
                    self.missed.status.eq(self.missed.status + 1),
                ).Else(
                    frames.valid.eq(1),
                    number.eq(next_number),
                    base.eq(next_base),
                ),
            ),
            If(~self.run.storage,
                timer.eq(0),
                next_number.eq(0),
                next_base.eq(0),
            ),
        ]
