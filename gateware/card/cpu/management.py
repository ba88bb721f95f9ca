# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The management CPU as a block of the SoC: its parts, its clock, and the host's registers."""

from math import log2

from litex.gen import *
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect.csr import *
from migen import *

from gateware import numbers
from gateware.card.cpu.core import Core, core_verilog
from gateware.card.cpu.image import make_image
from gateware.card.cpu.layout import CLOCK_DIVIDER, CONTROL, STATES, STATUS, TICKS, WRITABLE
from gateware.card.cpu.memory import CpuMemory
from gateware.card.cpu.portal import Portal
from gateware.card.cpu.starter import Starter


class Management(LiteXModule):
    """The management CPU.

    `busy` is high while its clock runs or its image is checked. A CPU that sleeps or is held is not
    work, and neither is the tick that will wake it. `firmware` is the Firmware that it starts with,
    and `words` a function that returns the words of its image."""
    def __init__(self, firmware, words):
        self.firmware = firmware
        self.words    = words
        self.hot      = Signal() # i, the FPGA is at its limit of temperature.
        self.waves    = Signal(len(TICKS)) # i, a bit of device time for each of TICKS
        self.busy     = Signal() # o, the CPU has work, so device time must run.
        self.irq      = Signal() # o, one cycle: the CPU interrupts the host.

        # # #

        self.cd_cpu  = ClockDomain()
        self.memory  = CpuMemory()
        self.portal  = Portal([numbers.CSR_LOCATIONS[name] for name in WRITABLE])
        self.starter = Starter()
        self.core    = Core(self.memory.cpu, self.portal)
        self.specials += Instance("BUFGCE_DIV",
            p_BUFGCE_DIVIDE = CLOCK_DIVIDER,
            i_I   = ClockSignal(),
            i_CE  = self.starter.clocked,
            i_CLR = 0,
            o_O   = self.cd_cpu.clk,
        )
        self.add_csr()
        self.connect_parts()

    def do_finalize(self):
        """Puts the image into the memory. By now the SoC has given all registers their
        addresses."""
        self.memory.set_image(self.words())

    def add_csr(self):
        """Adds the registers by which the host controls the management CPU."""
        self._control = CSRStorage(fields=[
            CSRField("hold", size=1, offset=CONTROL["hold"], description="Hold the CPU in reset. "
                "Its image can be written meanwhile, and is checked and started when the bit is "
                "cleared."),
        ])
        meanings = {
            "state":    ", ".join(f"{value} {name}" for name, value in STATES.items()) + ".",
            "awake":    "The CPU's clock runs.",
            "failures": "Starts in a row that ended without a heartbeat.",
            "refused":  "Writes of the CPU to registers that are not its own, which were dropped, "
                "modulo 256.",
        }
        self._status = CSRStatus(fields=[
            CSRField(name, size=bits, offset=lowest, description=meanings[name])
            for name, (lowest, bits) in STATUS.items()
        ])
        self._doorbell = CSRStorage(description="Writing wakes the CPU to look at its mailbox.")

    def connect_parts(self):
        """Connects the CPU's memory, portal, starter and registers."""
        memory, portal, starter = self.memory, self.portal, self.starter
        status = self._status.fields
        self.comb += [
            self.cd_cpu.rst.eq(starter.reset),
            starter.hold.eq(self._control.fields.hold),
            starter.heartbeat.eq(portal.heartbeat),
            starter.asleep.eq(portal.asleep),
            memory.open.eq(starter.state == STATES["held"]),
            memory.check_address.eq(starter.address),
            memory.check_read.eq(starter.read),
            memory.check_keep.eq(starter.keep),
            starter.taken.eq(memory.check_taken),
            starter.data.eq(memory.check_data),
            portal.reset.eq(starter.reset),
            portal.doorbell.eq(self._doorbell.re),
            portal.hot.eq(self.hot),
            portal.waves.eq(self.waves),
            portal.failures.eq(starter.failures),
            self.busy.eq(starter.busy),
            self.irq.eq(portal.ring),
            status.state.eq(starter.state),
            status.awake.eq(starter.clocked),
            status.failures.eq(starter.failures),
            status.refused.eq(portal.refused),
        ]

# The management CPU in the SoC --------------------------------------------------------------------

def tick_places(clock):
    """Returns a list with a pair for each of TICKS: its bit in the register `tick`, and the bit of
    device time that falls once in its period. `clock` is the user clock in Hz."""
    return [(bit, round(log2(clock)) - shift - 1) for bit, shift in TICKS.values()]

def add_management(soc, firmware):
    """Adds the management CPU to the SoC, with the Firmware `firmware`; nothing if it is None."""
    if firmware is None:
        return
    soc.management = management = Management(firmware, lambda: make_image(soc, firmware))
    soc.platform.add_source(str(core_verilog()))
    soc.bus.add_master(name="management", master=management.portal.bus)
    for name, bus, base, size in (
        ("cpu_image", management.memory.image, numbers.CPU_IMAGE_BASE, numbers.CPU_IMAGE_SIZE),
        ("cpu_mailbox", management.memory.mailbox, numbers.CPU_MAILBOX_BASE,
            numbers.CPU_MAILBOX_SIZE),
    ):
        soc.bus.add_slave(name, bus, SoCRegion(origin=base, size=size, cached=False))
    soc.comb += [
        management.hot.eq(soc.sensors.over_temperature),
        *[management.waves[bit].eq(soc.device_time.time[place])
            for bit, place in tick_places(soc.sys_clk_freq)],
    ]
    soc.add_interrupts({"MANAGEMENT": management.irq})
    soc.busy = soc.busy | management.busy

