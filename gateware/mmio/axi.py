# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The AXI4 bus of user logic. The bridge is its master; the window at BAR2 + AXI_BASE shows it.

    aw, w, b    a burst of INCR for each write of the host, strobes exact, up to 32 without response
    ar, r       a burst for each piece of a read, each with an ID of its own, up to 32 in flight

The occupant may answer in any order and may interleave the beats of reads. The bridge never holds
off `b` or `r`. A burst stays inside 4 KiB and may start at any dword. Its beats have 32 bytes; a
single dword is one beat of 4 bytes. Addresses count from the window's start.
"""

from litex.gen import *
from litex.soc.interconnect import axi
from migen import *

from lanebox.layouts import AXI_ID_WIDTH, AXI_SIZE, DATA_WIDTH

# What the bridge drives and reads of each channel; the rest of AXI4 stays at 0.
ADDRESS  = ("addr", "id", "len", "size", "burst")
CHANNELS = {
    "aw": ("source", ADDRESS),
    "w":  ("source", ("data", "strb", "last")),
    "b":  ("sink",   ("id", "resp")),
    "ar": ("source", ADDRESS),
    "r":  ("sink",   ("data", "id", "resp", "last")),
}

def user_axi():
    """The bus as user logic has it: `self.axi = user_axi()`."""
    return axi.AXIInterface(
        data_width    = DATA_WIDTH,
        address_width = bits_for(AXI_SIZE - 1),
        id_width      = AXI_ID_WIDTH,
    )

def axi_problem(bus):
    """Why `bus` is not a user_axi(), as the end of a sentence; None if it is one."""
    if not isinstance(bus, axi.AXIInterface):
        return f"is {bus!r}"
    wanted = user_axi()
    for name in ("data_width", "address_width", "id_width"):
        found, right = getattr(bus, name), getattr(wanted, name)
        if found != right:
            return f"has a {name} of {found}, which must be {right}"
    return None

def axi_ports(bus):
    """Ports of the SpinalHDL Instance that is the master of `bus`."""
    ports = {}
    for name, (role, fields) in CHANNELS.items():
        given, taken = {"source": ("o", "i"), "sink": ("i", "o")}[role]
        channel      = getattr(bus, name)
        ports[f"{given}_axi_{name}_valid"] = channel.valid
        ports[f"{taken}_axi_{name}_ready"] = channel.ready
        for field in fields:
            ports[f"{given}_axi_{name}_payload_{field}"] = getattr(channel, field)
    return ports
