# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The AXI4 bus of user logic. The MMIO bridge is its master. The host reaches it through the window
at BAR2 + AXI_BASE.

    aw, w, b    an INCR burst for each write of the host, strobes exact, up to 32 in flight
    ar, r       an INCR burst for each piece of a read (at most 512 bytes), each with an ID of its
                own, up to 32 in flight

User logic may answer in any order and may interleave the beats of reads. The bridge never holds off
`b` or `r`. A burst stays inside 4 KiB and may start at any dword. Its beats have 32 bytes, but a
read of a single dword is one beat of 4 bytes. Addresses count from the window's start."""

from litex.gen import *
from litex.soc.interconnect import axi
from migen import *

from gateware.numbers import AXI_ID_WIDTH, AXI_SIZE, DATA_WIDTH

# The signals of each AXI4 channel that the MMIO bridge drives or reads. All other signals of the
# bus stay at 0.
ADDRESS  = ("addr", "id", "len", "size", "burst")
CHANNELS = {
    "aw": ("source", ADDRESS),
    "w":  ("source", ("data", "strb", "last")),
    "b":  ("sink",   ("id", "resp")),
    "ar": ("source", ADDRESS),
    "r":  ("sink",   ("data", "id", "resp", "last")),
}

def user_axi():
    """Returns a new AXI4 bus for user logic: `self.axi = user_axi()`."""
    return axi.AXIInterface(
        data_width    = DATA_WIDTH,
        address_width = bits_for(AXI_SIZE - 1),
        id_width      = AXI_ID_WIDTH,
    )

def axi_problem(bus):
    """Returns the reason, as the end of a sentence, why the MMIO bridge cannot master `bus`; None
    if `bus` has the widths of user_axi()."""
    if not isinstance(bus, axi.AXIInterface):
        return f"is {bus!r}"
    wanted = user_axi()
    for name in ("data_width", "address_width", "id_width"):
        found, right = getattr(bus, name), getattr(wanted, name)
        if found != right:
            return f"has a {name} of {found}, which must be {right}"
    return None

def axi_ports(bus):
    """Returns the arguments of the MMIO bridge's Instance that make it the master of `bus`."""
    ports = {}
    for name, (role, fields) in CHANNELS.items():
        given, taken = {"source": ("o", "i"), "sink": ("i", "o")}[role]
        channel      = getattr(bus, name)
        ports[f"{given}_axi_{name}_valid"] = channel.valid
        ports[f"{taken}_axi_{name}_ready"] = channel.ready
        for field in fields:
            ports[f"{given}_axi_{name}_payload_{field}"] = getattr(channel, field)
    return ports
