# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A DMA channel: both directions, loopback, and a buffer each towards the user slot.

Either endpoint's channel has LitePCIe's registers and streams. With the stock endpoint it is
LitePCIe's; with ours both engines are ours.
"""

from functools import reduce
from operator import or_

from litepcie.frontend.dma import LitePCIeDMA
from litex.gen import *
from litex.soc.interconnect import stream
from migen import *

from lanebox import layouts
from lanebox.dma.buffering import Buffering
from lanebox.dma.c2h import C2h
from lanebox.dma.h2c import H2c
from lanebox.dma.loopback import DmaLoopback
from lanebox.dma.notices import Account, NoticeRegisters


def _add_doorbell(channel):
    """`doorbell` is high when the host hands a direction a descriptor or switches it on."""
    engines = channel.reader, channel.writer
    channel.doorbell = Signal() # o
    channel.comb += channel.doorbell.eq(reduce(or_, [
        engine.table.we.re | (engine._enable.re & engine._enable.storage[0])
        for engine in engines
    ]))

class DmaChannel(LiteXModule):
    """LitePCIeDMA with our engines. Its parts have LitePCIe's names, since registers do."""
    h2c_settled = True # An h2c descriptor counts as done when its data is here.
    h2c_taken   = True # The enable register of h2c says when the user has taken all.

    def __init__(self, endpoint):
        self.sink   = stream.Endpoint(layouts.stream_layout()) # i, c2h
        self.source = stream.Endpoint(layouts.stream_layout()) # o, h2c
        self.busy   = Signal()                                 # o, device time passes.

        # # #

        h2c            = Account()
        self.writer    = C2h(endpoint, endpoint.crossbar.get_master_port(write_only=True), h2c)
        self.reader    = H2c(endpoint, endpoint.crossbar.get_master_port(read_only=True), h2c)
        self.loopback  = DmaLoopback()
        self.buffering = Buffering(layouts.DMA_BUFFER_SIZE)
        self.comb += [
            self.reader.source.connect(self.loopback.sink),
            self.loopback.next_source.connect(self.buffering.sink),
            self.buffering.next_source.connect(self.source),
            self.sink.connect(self.buffering.next_sink),
            self.buffering.source.connect(self.loopback.next_sink),
            self.loopback.source.connect(self.writer.sink),
        ]
        _add_doorbell(self)

        # Data that waits for the user, or the user's for room.
        self.comb += self.busy.eq(self.reader.busy | self.writer.busy |
            (self.reader.enable & self.buffering.h2c.held) |
            (self.writer.enable & (self.buffering.c2h.held | self.sink.valid)))

def _stock_channel(endpoint):
    channel = LitePCIeDMA(endpoint.phy, endpoint,
        table_depth     = layouts.DMA_TABLE_DEPTH,
        with_loopback   = True,
        with_buffering  = True,
        buffering_depth = layouts.DMA_BUFFER_SIZE,
        address_width   = layouts.ADDRESS_WIDTH,
    )
    channel.h2c_settled = False # It counts what it has asked for.
    channel.h2c_taken   = False
    _add_doorbell(channel)

    # Its streams have no packets.
    sink, source = (stream.Endpoint(layouts.stream_layout()) for _ in range(2))
    channel.comb += [
        sink.connect(channel.sink, keep={"valid", "ready", "data"}),
        channel.source.connect(source),
    ]
    channel.sink, channel.source = sink, source

    channel.busy  = Signal() # o
    channel.comb += channel.busy.eq(channel.reader.enable | channel.writer.enable)
    return channel

CHANNELS = {"lanebox": DmaChannel, "litepcie": _stock_channel}

def make_channel(name, endpoint):
    """A channel for the endpoint called `name`."""
    return CHANNELS[name](endpoint)

def add_notices(soc):
    """The registers of what the channel tells the host in memory, where its engines can."""
    channel = soc.pcie_dma0
    if isinstance(channel, DmaChannel):
        soc.pcie_notices0 = NoticeRegisters(channel.writer)
        soc.comb += channel.writer.notices.time.eq(soc.device_time.time)

def dma_constants(channel):
    """What software is told of the channels, of which `channel` is the first."""
    return {
        "DMA_CHANNELS":    layouts.DMA_CHANNELS,
        "DMA_ADDR_WIDTH":  layouts.ADDRESS_WIDTH,
        "DMA_H2C_SETTLED": int(channel.h2c_settled),
        "DMA_H2C_TAKEN":   int(channel.h2c_taken),
    }
