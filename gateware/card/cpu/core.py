# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""VexRiscv Min with its memory's port and its half of the portal, in the clock domain `cpu`.

The core is unmodified Verilog from the package pythondata-cpu-vexriscv. Its interrupts are not
connected: the firmware waits for events by its register `sleep`."""

from importlib.util import find_spec
from pathlib import Path

from litex.gen import *
from litex.soc.interconnect import wishbone
from migen import *

from gateware.card.cpu.layout import DATA_BASE, PORTAL_BASE, WORD

PACKAGE = "pythondata_cpu_vexriscv"

def core_verilog():
    """Returns the path of the core's Verilog. Raises ValueError if its package is not installed."""
    found = find_spec(PACKAGE)
    if found is None:
        raise ValueError(f"--firmware: the Python package {PACKAGE}, which has the CPU, is not "
            "installed; `make setup` installs it")
    return Path(found.submodule_search_locations[0])/"verilog"/"VexRiscv_Min.v"

class Core(LiteXModule):
    """The CPU's core. `port` is a port of the CPU's memory; a Portal answers all other accesses."""
    def __init__(self, port, portal):
        self.instructions = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.data         = wishbone.Interface(data_width=32, address_width=32, addressing="word")

        # # #

        self.add_memory(port, portal)
        self.specials += Instance("VexRiscv",
            i_clk                    = ClockSignal("cpu"),
            i_reset                  = ResetSignal("cpu"),
            i_externalResetVector    = 0,
            i_timerInterrupt         = 0,
            i_softwareInterrupt      = 0,
            i_externalInterruptArray = 0,
            **self.pins("iBusWishbone", self.instructions),
            **self.pins("dBusWishbone", self.data),
        )

    @staticmethod
    def pins(name, bus):
        """Returns the arguments of the core's Instance for one of its buses."""
        return {
            f"o_{name}_CYC": bus.cyc, f"o_{name}_STB": bus.stb, f"o_{name}_WE": bus.we,
            f"o_{name}_ADR": bus.adr, f"o_{name}_SEL": bus.sel, f"o_{name}_DAT_MOSI": bus.dat_w,
            f"i_{name}_ACK": bus.ack, f"i_{name}_ERR": 0, f"i_{name}_DAT_MISO": bus.dat_r,
        }

    def add_memory(self, port, portal):
        """Gives the memory to the data bus before the instruction bus, one access at a time. The
        memory answers in the next cycle. The portal answers data accesses from PORTAL_BASE on."""
        fetch, data = self.instructions, self.data
        outside = data.adr[log2_int(PORTAL_BASE//WORD)]
        load    = Signal() # The data bus and not the fetch uses the memory in this cycle.
        loaded, fetched = Signal(), Signal()
        self.comb += [
            load.eq(data.cyc & data.stb & ~outside & ~loaded),
            port.adr.eq(Mux(load, data.adr, fetch.adr)),
            port.dat_w.eq(data.dat_w),
            # Stores do not change the image, since the image must start again after a crash.
            If(load & data.we & (data.adr[log2_int(DATA_BASE//WORD):len(port.adr)] != 0),
                port.we.eq(data.sel)),
            fetch.ack.eq(fetched),
            fetch.dat_r.eq(port.dat_r),
            data.ack.eq(loaded | portal.ack),
            data.dat_r.eq(Mux(portal.ack, portal.answer, port.dat_r)),
            portal.request.eq(data.cyc & data.stb & outside),
            portal.address.eq(data.adr),
            portal.write.eq(data.we),
            portal.value.eq(data.dat_w),
        ]
        self.sync.cpu += [
            loaded.eq(load),
            fetched.eq(fetch.cyc & fetch.stb & ~load & ~fetched),
        ]
