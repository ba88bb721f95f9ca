# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The ports at which front ends attach to the endpoint: those of LitePCIe's crossbar, with a few
fields added to their layouts.

A front end that knows only LitePCIe's layouts attaches unchanged. It leaves `with_be` at its reset
value 0, which means whole dwords. A front end that sets `with_be` gives byte enables. `error` says
why data is missing (ReadError.scala). LitePCIe's own `err` only says that data is missing."""

from litepcie.common import completion_layout, request_layout
from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.stream import EndpointDescription
from migen import *

from gateware import numbers
from gateware.vocabulary import layouts

# The bits of a read request's context in which LitePCIe's field `user_id` travels, so that the
# read's data returns with it.
CONTEXT_USER_ID = slice(0, 8)

# Layouts of front ends' ports ---------------------------------------------------------------------

def port_request_layout():
    """Returns the layout of LitePCIe's request, with byte enables for the first and the last dword
    added, and with `whole`, which says that a request has 1024 dwords, so that `len` is 0. They
    count only if `with_be` is set."""
    base = request_layout(numbers.DATA_WIDTH, numbers.ADDRESS_WIDTH)
    return EndpointDescription([*base.payload_layout,
        ("with_be", 1), ("first_be", 4), ("last_be", 4), ("whole", 1)])

def port_completion_layout():
    """Returns the layout of LitePCIe's completion, with `error` added, a ReadError code that says
    why `err` is set."""
    base = completion_layout(numbers.DATA_WIDTH, numbers.ADDRESS_WIDTH)
    return EndpointDescription([*base.payload_layout, ("error", 3)])

def slave_request_layout():
    """Returns the layout of SlaveRequest.scala: LitePCIe's request with byte enables, which are
    always valid."""
    base = request_layout(numbers.DATA_WIDTH)
    return EndpointDescription([*base.payload_layout, ("first_be", 4), ("last_be", 4)])

def slave_completion_layout():
    """Returns the layout of SlaveCompletion.scala, which is LitePCIe's completion."""
    return completion_layout(numbers.DATA_WIDTH)

# Ports of front ends ------------------------------------------------------------------------------

class MasterPort:
    """A front end's port to host memory. Its requests leave at `source`, the data of its reads
    comes at `sink`.

    A write may pass an earlier read of the same port, as on PCIe. So before a front end writes to
    an address that it still reads, it must wait for the data. No read passes an earlier write.

    Interrupts wait for the data of earlier reads only if the port is `fenced`.

    Only a port that is `told` has pulses of `sent`. Each pulse says that all writes whose last beat
    was taken by the pulse before (in its cycle, or earlier) have left the hard block. So at the
    second pulse behind a write, this write has left. Pulses go on for ever.
    """
    def __init__(self, channel, writes, reads, fenced=True, told=False):
        self.channel = channel
        self.writes  = writes
        self.reads   = reads
        self.fenced  = fenced
        self.told    = told
        self.source  = stream.Endpoint(port_request_layout())
        self.sink    = stream.Endpoint(port_completion_layout())
        self.sent    = Signal()

class SlavePort:
    """A front end's port for the host's requests to BAR0. Requests come at `sink`, and the front
    end sends its answers to `source`."""
    def __init__(self, address_decoder):
        self.address_decoder = address_decoder
        self.sink            = stream.Endpoint(port_request_layout())
        self.source          = stream.Endpoint(port_completion_layout())

def join_master_port(request, data, port):
    """Returns the statements that join a SpinalHDL client to the master port `port`.

    The client's requests leave at `request`, the data of its reads comes at `data`. Both have the
    layouts of vocabulary/layouts.py, and the port has LitePCIe's."""
    source, sink = port.source, port.sink
    return [
        request.connect(source, keep={"valid", "ready", "last"}),
        source.channel.eq(port.channel),
        source.we.eq(request.write),
        source.adr.eq(request.address),
        source.len.eq(request.dwords),
        source.whole.eq(request.dwords[10]),
        source.dat.eq(request.data),
        source.user_id.eq(request.context[CONTEXT_USER_ID]),
        source.with_be.eq(1),
        source.first_be.eq(request.first_be),
        source.last_be.eq(request.last_be),
        sink.connect(data, keep={"valid", "ready", "last"}),
        data.data.eq(sink.dat),
        data.dwords.eq(sink.len),
        data.context.eq(sink.user_id),
        data.error.eq(sink.error),
    ]

# Adapters from LitePCIe's layouts to the endpoint's -----------------------------------------------

class RequestAdapter(LiteXModule):
    """Translates requests of a front end from the layout of a master port's `source` to the
    endpoint's layout Request."""
    def __init__(self):
        self.sink   = sink   = stream.Endpoint(port_request_layout())      # i
        self.source = source = stream.Endpoint(layouts.request_layout())   # o

        # # #

        single = Signal()
        self.comb += [
            sink.connect(source, keep={"valid", "ready", "last"}),
            single.eq(sink.len == 1),
            source.write.eq(sink.we),
            source.address.eq(sink.adr),
            # LitePCIe's `len` of 0 means 1024 dwords. This comparison makes the path long, so a
            # front end that gives byte enables says so itself.
            source.dwords.eq(Cat(sink.len, Mux(sink.with_be, sink.whole, sink.len == 0))),
            source.data.eq(sink.dat),
            source.context.eq(Cat(sink.user_id, sink.channel)),
            If(sink.with_be,
                source.first_be.eq(sink.first_be),
                source.last_be.eq(sink.last_be),
            ).Else(
                source.first_be.eq(0xf),
                source.last_be.eq(Mux(single, 0, 0xf)),
            ),
        ]

class DataAdapter(LiteXModule):
    """Translates read data from the endpoint's ReadData to the layout of a master port's `sink`.
    The data of each read request is one packet."""
    def __init__(self, channel):
        self.sink   = sink   = stream.Endpoint(layouts.read_data_layout()) # i
        self.source = source = stream.Endpoint(port_completion_layout())   # o

        # # #

        first = Signal(reset=1)
        self.sync += If(sink.valid & sink.ready, first.eq(sink.last))
        self.comb += [
            sink.connect(source, keep={"valid", "ready", "last"}),
            source.first.eq(first),
            source.end.eq(1),
            source.len.eq(sink.dwords),
            source.dat.eq(sink.data),
            source.err.eq(sink.error != 0),
            source.error.eq(sink.error),
            source.user_id.eq(sink.context[CONTEXT_USER_ID]),
            source.channel.eq(channel),
        ]
