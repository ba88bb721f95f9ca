# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A DMA channel: both directions, the loopback, and a buffer in each direction to the user slot.

The channel of either endpoint has LitePCIe's registers and streams. With the endpoint `litepcie`
the whole channel is LitePCIe's. With `lanebox` the engines, the loopback and the buffers are this
project's.
"""

from functools import reduce
from operator import or_

from litepcie.frontend.dma import LitePCIeDMA
from litex.gen import *
from litex.soc.interconnect import stream
from migen import *

from gateware import numbers
from gateware.dma.buffering import Buffering
from gateware.dma.c2h import C2h
from gateware.dma.h2c import H2c
from gateware.dma.loopback import DmaLoopback
from gateware.dma.moderation import Moderation, ModerationRegisters
from gateware.dma.notices import Account, NoticeRegisters
from gateware.vocabulary import layouts


def _add_doorbell(channel):
    """Adds the signal `doorbell` to a DMA channel. It is high for a cycle when the host gives a
    direction a descriptor or switches the direction on."""
    engines = channel.reader, channel.writer
    channel.doorbell = Signal() # o
    channel.comb += channel.doorbell.eq(reduce(or_, [
        engine.table.we.re | (engine._enable.re & engine._enable.storage[0])
        for engine in engines
    ]))

class DmaChannel(LiteXModule):
    """A DMA channel like LitePCIeDMA, with this project's engines. Its parts have LitePCIe's names
    (`reader`, `writer`), since LiteX makes the register names from them."""
    # For software: the card counts an h2c descriptor only when its data has come to the card.
    h2c_settled = True
    # For software: bit 2 of h2c's enable register says that the user has taken all h2c data.
    h2c_taken   = True

    def __init__(self, endpoint):
        self.sink    = stream.Endpoint(layouts.stream_layout()) # i, c2h data from the user
        self.source  = stream.Endpoint(layouts.stream_layout()) # o, h2c data for the user
        # o, one cycle: h2c raises an interrupt.
        self.h2c_irq = Signal()
        # o, one cycle: c2h raises an interrupt.
        self.c2h_irq = Signal()
        self.busy    = Signal() # o, the DMA channel has work, so device time must run.

        # # #

        h2c            = Account()
        crossbar       = endpoint.crossbar
        self.writer    = C2h(endpoint, crossbar.get_master_port(write_only=True, told=True), h2c)
        self.reader    = H2c(endpoint, crossbar.get_master_port(read_only=True), h2c)
        self.loopback  = DmaLoopback()
        self.buffering = Buffering(numbers.DMA_BUFFER_SIZE)
        self.comb += [
            self.reader.source.connect(self.loopback.sink),
            self.loopback.next_source.connect(self.buffering.sink),
            self.buffering.next_source.connect(self.source),
            self.sink.connect(self.buffering.next_sink),
            self.buffering.source.connect(self.loopback.next_sink),
            self.loopback.source.connect(self.writer.sink),
        ]
        _add_doorbell(self)

        self.h2c_moderation = Moderation()
        self.c2h_moderation = Moderation()
        self.comb += [
            self.h2c_moderation.wanted.eq(self.reader.irq),
            self.c2h_moderation.wanted.eq(self.writer.irq),
            self.h2c_irq.eq(self.h2c_moderation.irq),
            self.c2h_irq.eq(self.c2h_moderation.irq),
        ]

        # The channel is busy while an engine is. It is also busy while data waits for the user,
        # while the user's data waits for the engine, and while an interrupt is kept back.
        self.comb += self.busy.eq(self.reader.busy | self.writer.busy |
            self.h2c_moderation.waits | self.c2h_moderation.waits |
            (self.reader.enable & self.buffering.h2c.held) |
            (self.writer.enable & (self.buffering.c2h.held | self.sink.valid)))

def _stock_channel(endpoint):
    channel = LitePCIeDMA(endpoint.phy, endpoint,
        table_depth     = numbers.DMA_TABLE_DEPTH,
        with_loopback   = True,
        with_buffering  = True,
        buffering_depth = numbers.DMA_BUFFER_SIZE,
        address_width   = numbers.ADDRESS_WIDTH,
    )
    # For software: LitePCIe's channel counts an h2c descriptor as soon as its data is requested.
    channel.h2c_settled = False
    channel.h2c_taken   = False
    _add_doorbell(channel)

    # LitePCIe's own DMA channel does not know packets, so only the data of the streams is
    # connected, without `last`, `bytes` and `error`.
    sink, source = (stream.Endpoint(layouts.stream_layout()) for _ in range(2))
    channel.comb += [
        sink.connect(channel.sink, keep={"valid", "ready", "data"}),
        channel.source.connect(source),
    ]
    channel.sink, channel.source = sink, source

    channel.h2c_irq = channel.reader.irq
    channel.c2h_irq = channel.writer.irq
    # o, h2c or c2h is enabled in LitePCIe's DMA channel, so device time must run.
    channel.busy    = Signal()
    channel.comb   += channel.busy.eq(channel.reader.enable | channel.writer.enable)
    return channel

CHANNELS = {"lanebox": DmaChannel, "litepcie": _stock_channel}

def make_channel(name, endpoint):
    """Returns a new DMA channel of the kind `name` ("lanebox" or "litepcie") on `endpoint`."""
    return CHANNELS[name](endpoint)

def add_extras(soc):
    """Adds the registers of notices and interrupt moderation to the SoC, if its DMA channel is this
    project's. LitePCIe's channel has neither."""
    channel = soc.pcie_dma0
    if isinstance(channel, DmaChannel):
        soc.pcie_moderation0 = ModerationRegisters(channel.h2c_moderation, channel.c2h_moderation)
        soc.pcie_notices0 = NoticeRegisters(channel.writer)
        soc.comb += channel.writer.notices.time.eq(soc.device_time.time)

def dma_constants(channel):
    """Returns {name: value} of the SoC constants that tell software about the DMA channels.
    `channel` is the first channel."""
    return {
        "DMA_CHANNELS":    numbers.DMA_CHANNELS,
        "DMA_ADDR_WIDTH":  numbers.ADDRESS_WIDTH,
        "DMA_H2C_SETTLED": int(channel.h2c_settled),
        "DMA_H2C_TAKEN":   int(channel.h2c_taken),
    }
