# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The AXI4 bus of user logic: the bridge is its master, the window at BAR2 + AXI_BASE shows it.

    aw, w, b    a burst of INCR for each write of the host, strobes exact, up to 32 without response
    ar, r       a burst for each piece of a read, each with an ID of its own, up to 32 in flight

Answers may come in any order, those to reads mixed; `b` and `r` are never held off. A burst stays
inside its 4 KiB, has beats of 32 bytes, or one of 4 for a single dword, and may start at any dword.
Addresses count from the window's start.
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
    """What keeps `bus` from being one, as the end of a sentence; None if nothing does."""
    if not isinstance(bus, axi.AXIInterface):
        return f"is {bus!r}"
    wanted = user_axi()
    for name in ("data_width", "address_width", "id_width"):
        found, right = getattr(bus, name), getattr(wanted, name)
        if found != right:
            return f"has a {name} of {found}, which must be {right}"
    return None

def axi_ports(bus):
    """SpinalHDL's names for the bus of a master."""
    ports = {}
    for name, (role, fields) in CHANNELS.items():
        given, taken = {"source": ("o", "i"), "sink": ("i", "o")}[role]
        channel      = getattr(bus, name)
        ports[f"{given}_axi_{name}_valid"] = channel.valid
        ports[f"{taken}_axi_{name}_ready"] = channel.ready
        for field in fields:
            ports[f"{given}_axi_{name}_payload_{field}"] = getattr(channel, field)
    return ports
