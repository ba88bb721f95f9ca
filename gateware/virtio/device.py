# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The virtio console in the SoC: its page on the Wishbone bus, its interrupt causes, and its master
port of the endpoint.

VirtioConsole.scala has the logic. gateware/virtio/README.md describes the device.
"""

from litex.gen import *
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import stream, wishbone
from migen import *

from gateware import numbers
from gateware.endpoint.ports import CONTEXT_USER_ID
from gateware.vocabulary import layouts
from gateware.vocabulary.spinal_instance import spinal_instance
from gateware.vocabulary.spinal_ports import stream_ports
from tools.verilog.spinal_build import generate

CONSOLE_ID     = 3 # The virtio device ID of a console (VirtIO 1.2, 5).
CONSOLE_QUEUES = 2 # A receive queue and a transmit queue.

def check_virtio(virtio, endpoint, compat=None):
    """Raises ValueError if the virtio console is asked for, as `virtio` says, with a card that
    cannot have it.
    """
    if virtio and endpoint != "lanebox":
        raise ValueError("--virtio: LitePCIe's endpoint has no byte enables, which the virtio "
            "device needs; leave it out, or build with --endpoint lanebox")
    if virtio and compat:
        raise ValueError(f"--virtio: compat {compat!r} has registers where the device's page would "
            "be: choose one of the two")

class VirtioConsole(LiteXModule):
    """A virtio console that answers what the host sends with the same bytes.

    Host memory is reached through the master port `port`. The Wishbone bus `bus` shows the page of
    registers in whole dwords. A write of fewer bytes is ignored.
    """
    def __init__(self, platform, port):
        self.bus    = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        # o, a pulse for each queue that has news for the driver, and for a new configuration.
        self.causes = Signal(CONSOLE_QUEUES + 1)
        self.busy   = Signal() # o, the device has work, so device time must run.

        # # #

        request, data = (stream.Endpoint(layout()) for layout in
            (layouts.request_layout, layouts.read_data_layout))
        access  = Signal()
        verilog = generate("virtio.VirtioConsole")
        platform.add_source(verilog)
        self.specials += spinal_instance(verilog,
            i_registers_address   = self.bus.adr[:log2_int(numbers.VIRTIO_SIZE//4)],
            i_registers_write     = access & self.bus.we & (self.bus.sel == 0xf),
            i_registers_writeData = self.bus.dat_w,
            o_registers_readData  = self.bus.dat_r,
            o_causes              = self.causes,
            o_busy                = self.busy,
            **stream_ports("request", request, "source"),
            **stream_ports("data",    data,    "sink"),
        )
        self.comb += access.eq(self.bus.cyc & self.bus.stb & ~self.bus.ack)
        self.sync += self.bus.ack.eq(access)
        self.connect_port(request, data, port)

    def connect_port(self, request, data, port):
        """Connects the device's requests and the data of its reads to the master port `port`, which
        has LitePCIe's layouts.
        """
        source, sink = port.source, port.sink
        self.comb += [
            request.connect(source, keep={"valid", "ready", "last"}),
            source.channel.eq(port.channel),
            source.we.eq(request.write),
            source.adr.eq(request.address),
            source.len.eq(request.dwords),
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

# SoC ----------------------------------------------------------------------------------------------

def add_virtio(soc):
    """Adds the virtio console to the SoC, with interrupt causes behind those of the card."""
    port = soc.pcie_endpoint.crossbar.get_master_port()
    soc.virtio_console = VirtioConsole(soc.platform, port)
    soc.bus.add_slave("virtio_console", soc.virtio_console.bus,
        SoCRegion(origin=numbers.VIRTIO_BASE, size=numbers.VIRTIO_SIZE, cached=False))
    for offset, pulse in enumerate(soc.virtio_console.causes):
        soc.comb += soc.pcie_msi.irqs[numbers.VIRTIO_CAUSE + offset].eq(pulse)
    soc.add_constant("VIRTIO_CONSOLE_BASE", numbers.VIRTIO_BASE)
    soc.busy = soc.busy | soc.virtio_console.busy
