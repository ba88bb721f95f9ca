# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The virtio devices in the SoC: their pages on the Wishbone bus, their interrupt causes, and their
master port of the endpoint. The far side of the net device is connected here.

VirtioDevices.scala has the logic. gateware/virtio/README.md describes the devices."""

from typing import NamedTuple

from litex.gen import *
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import stream, wishbone
from migen import *

from gateware import numbers
from gateware.endpoint.ports import join_master_port
from gateware.port.sides import check_port, make_far_side
from gateware.vocabulary import layouts
from gateware.vocabulary.spinal_instance import spinal_instance
from gateware.vocabulary.spinal_ports import stream_ports
from tools.verilog.spinal_build import generate


class Device(NamedTuple):
    """A virtio device: its name on the bus, its virtio device ID (VirtIO 1.2, 5), its queues, its
    page's address on the bus and the interrupt cause of its queue 0."""
    name:   str
    id:     int
    queues: int
    base:   int
    cause:  int

class VirtioBuild(NamedTuple):
    """What a build's virtio devices have: the far side of the net device that is called `port`, the
    net device's pairs of queues, and whether rings may be packed."""
    port:   str  = "echo"
    pairs:  int  = numbers.VIRTIO_NET_PAIRS
    packed: bool = False

def virtio_devices(pairs):
    """Returns the devices, in the order that VirtioDevices.scala gives them. The net device has
    `pairs` pairs of queues. Behind two of them it has a control queue. A device has a cause for
    each queue, and one for its configuration."""
    devices, cause = [], numbers.VIRTIO_CAUSE
    net = 2*pairs + (pairs > 1)
    for n, (name, number, queues) in enumerate((("console", 3, 2), ("net", 1, net))):
        base = numbers.VIRTIO_BASE + n*numbers.VIRTIO_SIZE
        devices.append(Device(f"virtio_{name}", number, queues, base, cause))
        cause += queues + 1
    return tuple(devices)

def check_virtio(pairs, endpoint, compat=None, port="echo", with_mac=False, packed=False):
    """Raises ValueError if no net device has `pairs` pairs of queues (0: no virtio devices), if the
    card cannot have virtio devices, or if there is no far side `port`. `with_mac`: the target has a
    MAC. `packed`: the rings may be packed, which those of a second pair cannot.
    """
    check_port(port, with_mac)
    virtio = pairs != 0
    if pairs not in range(numbers.VIRTIO_NET_PAIRS + 1):
        raise ValueError(f"--virtio {pairs}: the net device has 1 to {numbers.VIRTIO_NET_PAIRS} "
            "pairs of queues")
    if packed and not virtio:
        raise ValueError("--packed: there are no rings without virtio devices; add --virtio 1")
    if packed and pairs > 1:
        raise ValueError("--packed: the control queue of a second pair of net queues has no packed "
            "ring; build one pair, with --virtio 1")
    if virtio and endpoint != "lanebox":
        raise ValueError("--virtio: LitePCIe's endpoint has no byte enables, which the virtio "
            "device needs; leave it out, or build with --endpoint lanebox")
    if virtio and compat:
        raise ValueError(f"--virtio: compat {compat!r} has registers where the device's page would "
            "be: choose one of the two")

class VirtioDevices(LiteXModule):
    """The virtio console, which answers what the host sends with the same bytes, and the virtio net
    device.

    Host memory is reached through the master port `port`. The Wishbone buses `buses` show the page
    of registers of each device in whole dwords. A write of fewer bytes is ignored. `h2c` has the
    frames that the net driver sends, and `c2h` takes those that it receives (Frames.scala).
    `build` is the VirtioBuild."""
    def __init__(self, platform, port, build=VirtioBuild()):
        self.devices = virtio_devices(build.pairs)
        self.h2c   = stream.Endpoint(layouts.frame_layout()) # o
        self.c2h   = stream.Endpoint(layouts.frame_layout()) # i
        self.link  = Signal(reset=1) # i, 1: the net device's link is up.
        self.now   = Signal(64)      # i, device time, which frames in `h2c` have as their time.
        self.buses = [wishbone.Interface(data_width=32, address_width=32, addressing="word")
            for _ in self.devices]
        # o, a pulse for each queue that has news for the driver, and for a new configuration.
        self.causes = Signal(sum(device.queues + 1 for device in self.devices))
        self.busy   = Signal() # o, a device has work, so device time must run.

        # # #

        request, data = (stream.Endpoint(layout()) for layout in
            (layouts.request_layout, layouts.read_data_layout))
        pages   = {}
        verilog = generate("virtio.VirtioDevices", pairs=build.pairs,
            **({"packed": True} if build.packed else {}))
        platform.add_source(verilog)
        for n, bus in enumerate(self.buses):
            access, accessed, write = Signal(), Signal(), Signal()
            address = Signal(log2_int(numbers.VIRTIO_SIZE//4))
            word    = Signal(32)
            # An access is kept in registers, since the path from the bus to the engine is deep. The
            # page sees it a cycle later, and the bus has its answer another cycle later.
            self.comb += access.eq(bus.cyc & bus.stb & ~accessed & ~bus.ack)
            self.sync += [
                address.eq(bus.adr),
                word.eq(bus.dat_w),
                write.eq(access & bus.we & (bus.sel == 0xf)),
                accessed.eq(access),
                bus.ack.eq(accessed),
            ]
            pages |= {
                f"i_registers_{n}_address":   address,
                f"i_registers_{n}_write":     write,
                f"i_registers_{n}_writeData": word,
                f"o_registers_{n}_readData":  bus.dat_r,
            }
        self.specials += spinal_instance(verilog,
            o_causes = self.causes,
            o_busy   = self.busy,
            i_now    = self.now,
            i_link   = self.link,
            **pages,
            **stream_ports("request", request,  "source"),
            **stream_ports("data",    data,     "sink"),
            **stream_ports("h2c",     self.h2c, "source"),
            **stream_ports("c2h",     self.c2h, "sink"),
        )
        self.comb += join_master_port(request, data, port)

# The virtio devices in the SoC --------------------------------------------------------------------

def add_virtio(soc, build):
    """Adds the virtio devices to the SoC as `build` says, with interrupt causes behind those of the
    card. If `build` is None, nothing is added. The capture block gets copies of the net device's
    frames if it was built for them."""
    if build is None:
        return
    # A used element is written when the data of its chain has come, and interrupts wait for that
    # write. Reads that are out then are of rings, or of chains that are not used yet. The driver
    # keeps both until a reset is answered, and the answer waits for these reads. So no interrupt
    # has to wait for them.
    port = soc.pcie_endpoint.crossbar.get_master_port(fenced=False)
    soc.virtio = virtio = VirtioDevices(soc.platform, port, build)
    soc.port   = side   = make_far_side(build.port, soc.platform)
    for device, bus in zip(virtio.devices, virtio.buses):
        soc.bus.add_slave(device.name, bus,
            SoCRegion(origin=device.base, size=numbers.VIRTIO_SIZE, cached=False))
        soc.add_constant(f"{device.name.upper()}_BASE", device.base)
    for offset, pulse in enumerate(virtio.causes):
        soc.comb += soc.pcie_msi.irqs[numbers.VIRTIO_CAUSE + offset].eq(pulse)
    soc.comb += [
        virtio.h2c.connect(side.sink),
        side.source.connect(virtio.c2h),
        virtio.link.eq(side.link),
        virtio.now.eq(soc.device_time.time),
    ]
    if soc.capture_net is not None:
        soc.comb += soc.capture_net.copy(virtio)
    soc.busy = soc.busy | virtio.busy | side.busy
