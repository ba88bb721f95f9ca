# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The FPGA's own sensors: temperature of the die and three supply voltages, with their alarms.

LiteX's USPSystemMonitor drives the vendor's primitive SYSMONE4. It measures without end and keeps
the newest value of each channel. LiteX sets the primitive up for another clock and an older
temperature formula, so SETTINGS and the clock divider replace some of its values.

Free-running conversions are not work, so in simulation they do not keep device time running."""

import math

from litex.gen import *
from litex.soc.cores.xadc import USPSystemMonitor
from litex.soc.interconnect.csr import *
from migen import *
from migen.genlib.cdc import MultiReg

# Highest frequency in Hz of the converter's clock, ADCCLK (DS922).
CONVERTER_CLOCK = 5.2e6

# A code of the SYSMONE4 has 16 bits. Its temperature in degrees Celsius is
# code*TEMPERATURE_SPAN/2**16 - TEMPERATURE_OFFSET, and a supply's voltage is
# code*VOLTAGE_SPAN/2**16 (UG580). TEMPERATURE_SPAN and TEMPERATURE_OFFSET hold for the on-chip
# reference. LiteX's text has the numbers for an external reference, 507.5921310 and 279.42657680,
# which give 0.1 to 0.6 degrees less between 0 and 125. A board chooses the reference by its pin
# VREFP. It is not known what that pin is connected to on any board of targets/.
TEMPERATURE_SPAN   = 509.3140064
TEMPERATURE_OFFSET = 280.23087870
VOLTAGE_SPAN       = 3.0
CODE_BITS          = 16
VALUE_BITS         = 10 # LiteX keeps this many upper bits of a code.
CHANNEL_BITS       = 6

# Limits of the alarms: (upper, lower). An alarm of a supply is on outside its limits. An alarm of
# the temperature turns on above the upper limit, and off below the lower one. The limits of the
# supplies are the part's recommended operating conditions for speed grade -2 (DS922).
TEMPERATURE_ALARM = (85.0, 80.0)
OVER_TEMPERATURE  = (100.0, 85.0)
VCCINT            = (0.876, 0.825)
VCCAUX            = (1.854, 1.746)
VCCBRAM           = (0.876, 0.825)

# The bit of each alarm in the primitive's output ALM.
ALARM_BITS = {"temperature": 0, "vccint": 1, "vccaux": 2, "vccbram": 3}

def temperature(code):
    """Returns the temperature in degrees Celsius that the 16-bit `code` stands for."""
    return code*TEMPERATURE_SPAN/2**CODE_BITS - TEMPERATURE_OFFSET

def temperature_code(celsius):
    """Returns the 16-bit code of a temperature, rounded to the nearest."""
    return round((celsius + TEMPERATURE_OFFSET)*2**CODE_BITS/TEMPERATURE_SPAN)

def voltage(code):
    """Returns the voltage in volts of a supply that the 16-bit `code` stands for."""
    return code*VOLTAGE_SPAN/2**CODE_BITS

def voltage_code(volts):
    """Returns the 16-bit code of a supply's voltage, rounded to the nearest."""
    return round(volts*2**CODE_BITS/VOLTAGE_SPAN)

def divider(clock):
    """Returns the smallest divider from `clock`, in Hz, to a converter clock within its limit."""
    return math.ceil(clock/CONVERTER_CLOCK)

def settings(clock):
    """Returns {register: initial value} where LiteX has another. `clock` is DCLK in Hz."""
    return {
        # Configuration register 1: sequence without end, calibration on, and alarms of VCCBRAM too,
        # which LiteX switches off.
        0x41: 0x2ed0,
        0x42: divider(clock) << 8,
        0x46: 0, # No user supplies, which would lengthen the sequence.
        0x47: 0,
        0x50: temperature_code(TEMPERATURE_ALARM[0]),
        0x54: temperature_code(TEMPERATURE_ALARM[1]),
        # The lowest four bits of the over-temperature limit are a switch: with 3 the FPGA would
        # power itself down and take the link with it.
        0x53: temperature_code(OVER_TEMPERATURE[0]) & 0xfff0,
        0x57: temperature_code(OVER_TEMPERATURE[1]),
        0x51: voltage_code(VCCINT[0]),
        0x55: voltage_code(VCCINT[1]),
        0x52: voltage_code(VCCAUX[0]),
        0x56: voltage_code(VCCAUX[1]),
        0x58: voltage_code(VCCBRAM[0]),
        0x5c: voltage_code(VCCBRAM[1]),
    }

def system_monitor(clock):
    """Returns LiteX's USPSystemMonitor with the values of settings(), and its EOS by name."""
    monitor = USPSystemMonitor()
    values  = {f"INIT_{number:02X}": value for number, value in settings(clock).items()}
    # Migen's get_fragment() would end the module, so that no parent could include it any more.
    primitive, = [special for special in monitor._fragment.specials
        if isinstance(special, Instance)]
    for item in primitive.items:
        if isinstance(item, Instance.Parameter) and item.name in values:
            item.value = Constant(values.pop(item.name), CODE_BITS)
    if values:
        raise ValueError(f"LiteX's SYSMONE4 has no parameters {', '.join(values)}")
    monitor.sequence_end = primitive.get_io("EOS")
    # LiteX connects the channel's 6 bits to a signal of 8, whose upper bits would have no driver.
    channel, = [item for item in primitive.items if getattr(item, "name", None) == "CHANNEL"]
    wide, channel.expr = channel.expr, Signal(CHANNEL_BITS)
    monitor.comb += wide.eq(channel.expr)
    return monitor

class Sensors(LiteXModule):
    """The sensors' registers. `clock` is the user clock in Hz. `over_temperature` is for logic that
    must act without a host."""
    value_bits = VALUE_BITS

    def __init__(self, clock, monitor=None):
        self.over_temperature = Signal() # o
        self.monitor          = monitor = monitor or system_monitor(clock)

        # # #

        alarms = {name: Signal(name=f"{name}_alarm") for name in ALARM_BITS}
        self.specials += MultiReg(monitor.ot, self.over_temperature)
        self.specials += [MultiReg(monitor.alarm[bit], alarms[name])
            for name, bit in ALARM_BITS.items()]
        self.add_csr(monitor, {"over_temperature": self.over_temperature, **alarms})

    def add_csr(self, monitor, alarms):
        """Adds this block's registers beside those of LiteX's `monitor`."""
        about = "{} is outside its limits{}."
        self.alarms = CSRStatus(fields=[CSRField(name, size=1, description=about.format(name, ""))
            for name in alarms])
        # A bit is set while its alarm is on, so clearing it during an alarm has no lasting effect.
        self.seen = CSRStatus(len(alarms),
            description="The alarms that have been on since ``clear`` was written, as ``alarms``.")
        self.clear = CSRStorage(len(alarms), description="Writing 1 clears a bit of ``seen``.")
        self.sequences = CSRStatus(32, description="Sequences of measurements since the reset: all "
            "channels have been measured once in each.")

        # # #

        now = Cat(*alarms.values())
        self.comb += [getattr(self.alarms.fields, name).eq(on) for name, on in alarms.items()]
        self.sync += [
            If(monitor.sequence_end, self.sequences.status.eq(self.sequences.status + 1)),
            self.seen.status.eq(self.seen.status | now),
            If(self.clear.re, self.seen.status.eq(self.seen.status & ~self.clear.storage | now)),
        ]
