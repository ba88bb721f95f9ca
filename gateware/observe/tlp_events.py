# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Finds the events on a TLP stream, cycle by cycle, for counters.

Every event comes one cycle late, from a register, so the counters do not lengthen any path of the
stream. Payload bytes are computed from the TLP's length field: a TLP with one dword of payload
counts four bytes, whatever its byte enables are."""

from litex.gen import *
from migen import *

from gateware.numbers import DWORD_COUNT_WIDTH
from gateware.phy.pcie4 import Pcie4Phy

# Bits of the first dword of a TLP's header (PCIe base specification, 2.2.1).
HEADER_LENGTH    = slice(0, 10) # Length of the payload in dwords; 0 means 1024.
HEADER_WITH_DATA = 30

# Bits of PG213's descriptors (the hard block's form of TLP headers) in the beat in which a TLP
# begins.
REQUEST_LENGTH    = slice(64, 75) # Length of the request's payload in dwords.
REQUEST_TYPE      = slice(75, 79)
MEMORY_WRITE      = 1
COMPLETION_LENGTH = slice(32, 43)
# The bit of a beat of RC at which a second completion may begin, if the hard block straddles.
STRADDLED         = 128

class TlpEvents(LiteXModule):
    """Finds the events of one TLP stream: beats, stalls, and the TLPs that begin in a beat, with
    their payload bytes. This class drives `beat` and `stall`, its subclasses the two others."""
    def __init__(self, stream):
        self.beat    = Signal() # o, a beat of the TLP stream was accepted in the cycle before.
        # o, a beat of the TLP stream was offered and not accepted in the cycle before.
        self.stall   = Signal()
        self.tlps    = Signal(2)  # o, number of TLPs that began in the accepted beat.
        self.payload = Signal(14) # o, payload bytes of the TLPs that began in the beat.

        # # #

        self.accepted = Signal()
        self.first    = Signal(reset=1)
        self.comb += self.accepted.eq(stream.valid & stream.ready)
        self.sync += [
            If(self.accepted, self.first.eq(stream.last)),
            self.beat.eq(self.accepted),
            self.stall.eq(stream.valid & ~stream.ready),
        ]

class HeaderEvents(TlpEvents):
    """Counts TLPs that begin in a beat, and their payload bytes, on a stream of a LitePCIe PHY. Its
    TLPs have the headers of the PCIe base specification."""
    def __init__(self, stream):
        TlpEvents.__init__(self, stream)

        # # #

        length = Signal(10)
        data   = Signal()
        self.sync += [
            self.tlps.eq(self.accepted & self.first),
            data.eq(stream.dat[HEADER_WITH_DATA]),
            length.eq(stream.dat[HEADER_LENGTH]),
        ]
        self.comb += If(self.tlps[0] & data,
            self.payload.eq(Cat(C(0, 2), length, length == 0)))

class RequestEvents(TlpEvents):
    """For each beat of CQ or RQ: how many requests begin in it, and the payload bytes of writes."""
    def __init__(self, stream):
        TlpEvents.__init__(self, stream)

        # # #

        length = Signal(DWORD_COUNT_WIDTH)
        write  = Signal()
        self.sync += [
            self.tlps.eq(self.accepted & self.first),
            write.eq(stream.data[REQUEST_TYPE] == MEMORY_WRITE),
            length.eq(stream.data[REQUEST_LENGTH]),
        ]
        self.comb += If(self.tlps[0] & write, self.payload.eq(Cat(C(0, 2), length)))

class CompletionEvents(TlpEvents):
    """For each beat of CC: how many completions begin in it, and how many bytes they carry."""
    def __init__(self, stream):
        TlpEvents.__init__(self, stream)

        # # #

        length = Signal(DWORD_COUNT_WIDTH)
        self.sync += [
            self.tlps.eq(self.accepted & self.first),
            length.eq(stream.data[COMPLETION_LENGTH]),
        ]
        self.comb += If(self.tlps[0], self.payload.eq(Cat(C(0, 2), length)))

class StraddledEvents(TlpEvents):
    """For each beat of RC with straddle: how many completions begin in it, and their payload bytes.
    One may begin at dword 0, another one at dword 4."""
    def __init__(self, stream):
        TlpEvents.__init__(self, stream)

        # # #

        # If only one completion begins in a beat, start_0 is set. That completion begins at dword 4
        # if another completion ends in the same beat before it, otherwise at dword 0.
        open_   = Signal() # A completion that began in an earlier beat of RC goes on in this beat.
        low     = stream.data[COMPLETION_LENGTH]
        high    = stream.data[STRADDLED:][COMPLETION_LENGTH]
        lengths = [Signal(DWORD_COUNT_WIDTH), Signal(DWORD_COUNT_WIDTH)]
        starts  = [Signal(), Signal()]
        self.sync += [
            If(self.accepted,
                # A completion goes on into the next beat if more completions have begun than ended.
                # Without straddle, `last` says that it ends.
                open_.eq(~stream.last & ((open_ + stream.start_0 + stream.start_1) !=
                    (stream.end_0.valid + stream.end_1.valid))),
            ),
            starts[0].eq(self.accepted & stream.start_0),
            starts[1].eq(self.accepted & stream.start_1),
            lengths[0].eq(Mux(open_, high, low)),
            lengths[1].eq(high),
        ]
        self.comb += [
            self.tlps.eq(starts[0] + starts[1]),
            self.payload.eq(Cat(C(0, 2), Mux(starts[0], lengths[0], 0))
                + Cat(C(0, 2), Mux(starts[1], lengths[1], 0))),
        ]

def tlp_events(phy):
    """Returns the TlpEvents of cq, cc, rq and rc of `phy`, a Pcie4Phy or one of LitePCIe's."""
    if isinstance(phy, Pcie4Phy):
        return {
            "cq": RequestEvents(phy.cq),
            "cc": CompletionEvents(phy.cc),
            "rq": RequestEvents(phy.rq),
            "rc": StraddledEvents(phy.rc),
        }
    return {
        "cq": HeaderEvents(phy.req_source),
        "cc": HeaderEvents(phy.cmp_sink),
        "rq": HeaderEvents(phy.req_sink),
        "rc": HeaderEvents(phy.cmp_source),
    }
