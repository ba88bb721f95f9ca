# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The commands of user logic: it reads and writes host memory by address, beside the DMA and
VirtIO, and needs no driver for that. gateware/README.md explains the commands and their ends.

User logic declares the four streams by `self.commands = UserCommands()`:

    command  o  a read or a write: address, bytes, and a number of the logic's own (`context`)
    c2h      o  the data of writes: as many beats for a command as its bytes need
    h2c      i  the data of reads: a packet for each command
    done     i  the end of each command, with its `context` and an error code

HostCommands.scala carries them out, through a master port of the endpoint of its own."""

from litex.gen import *
from litex.soc.interconnect import stream
from migen import *

from gateware import numbers
from gateware.endpoint.ports import join_master_port
from gateware.vocabulary import layouts
from gateware.vocabulary.spinal_instance import spinal_instance
from gateware.vocabulary.spinal_ports import stream_ports
from tools.verilog.spinal_build import generate

# Layouts of commands of user logic ----------------------------------------------------------------

def command_layout():
    """Returns the layout of a command. `bytes` bytes of host memory from the byte address `address`
    on are read, or written if `write` is set."""
    return [("write", 1), ("address", numbers.ADDRESS_WIDTH), ("bytes", numbers.COMMAND_BYTES_BITS),
        ("context", numbers.COMMAND_CONTEXT_BITS)]

def done_layout():
    """Returns the layout of a command's end. `error` is a ReadError (Scala) or COMMAND_REFUSED."""
    return [("write", 1), ("context", numbers.COMMAND_CONTEXT_BITS), ("error", 3)]

class UserCommands:
    """The streams by which user logic gives commands to read and write host memory."""
    def __init__(self):
        self.command = stream.Endpoint(command_layout())        # o
        self.c2h     = stream.Endpoint(layouts.stream_layout()) # o
        self.h2c     = stream.Endpoint(layouts.stream_layout()) # i
        self.done    = stream.Endpoint(done_layout())           # i

# The block that carries out commands --------------------------------------------------------------

class HostCommands(LiteXModule):
    """Carries out the commands `user`, which are UserCommands, through the master port `port`."""
    def __init__(self, platform, user, port):
        self.busy = Signal() # o, a command is under way, so device time must run.

        # # #

        verilog = generate("user.HostCommands")
        platform.add_source(verilog)
        request, data = (stream.Endpoint(layout()) for layout in
            (layouts.request_layout, layouts.read_data_layout))
        self.specials += spinal_instance(verilog,
            o_busy = self.busy,
            **stream_ports("command", user.command, "sink",   packets=False),
            **stream_ports("c2h",     user.c2h,     "sink"),
            **stream_ports("h2c",     user.h2c,     "source"),
            **stream_ports("done",    user.done,    "source", packets=False),
            **stream_ports("request", request,      "source"),
            **stream_ports("data",    data,         "sink"),
        )
        self.comb += join_master_port(request, data, port)

# Commands in the SoC ------------------------------------------------------------------------------

def add_commands(soc):
    """Adds HostCommands to the SoC, if the user's logic has the streams `commands`."""
    if soc.user.commands is None:
        return
    port = soc.pcie_endpoint.crossbar.get_master_port()
    soc.commands  = HostCommands(soc.platform, soc.user.commands, port)
    soc.user.busy = soc.user.busy | soc.commands.busy
