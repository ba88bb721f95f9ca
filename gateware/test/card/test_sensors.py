# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of card/sensors.py: the formulas of the FPGA's sensors, the values that its primitive is
set up with, and the registers of the alarms.
"""

import random
from types import SimpleNamespace

import pytest
from migen import Instance, Signal

from gateware.card import sensors
from gateware.card.sensors import Sensors
from tools.testing.csr_model import CsrBench
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, wait

# Pairs of value and 16-bit code, computed by hand from UG580's formulas for the on-chip reference.
TEMPERATURES = {
    0: 36059,
    25: 39276,
    40: 41206,
    85: 46996,
    100: 48926,
    125: 52143,
}
VOLTAGES = {0.85: 18569, 1.8: 39322, 0.825: 18022, 0.876: 19137}
ALARMS = 5


@pytest.mark.parametrize("celsius", TEMPERATURES)
def test_a_temperature_and_its_code_agree(celsius):
    """temperature() gives the temperature of UG580's formula for a code, and temperature_code()
    gives the code back.
    """
    code = TEMPERATURES[celsius]
    assert sensors.temperature(code) == pytest.approx(celsius, abs=0.005)
    assert sensors.temperature_code(celsius) == code


def test_the_ends_of_the_scales_are_those_of_ug580():
    """UG580's transfer functions for the on-chip reference: code 0 is -280.23 degrees, a full scale
    is 509.314 degrees, and a supply's full scale is 3 V. A step of the 16 bits is 7.77
    millidegrees, and one of the 10 bits that are read is half a degree.
    """
    assert sensors.temperature(0) == -280.23087870
    assert sensors.temperature(1 << 16) == pytest.approx(229.0831277)
    step = sensors.temperature(1) - sensors.temperature(0)
    assert step == pytest.approx(7.7715e-3, rel=1e-4)
    assert step * 2 ** (sensors.CODE_BITS - sensors.VALUE_BITS) == pytest.approx(0.4974, rel=1e-3)
    assert (sensors.voltage(0), sensors.voltage(1 << 16)) == (0, 3.0)


def test_an_external_reference_would_give_a_little_less():
    """UG580's other formula, for an external reference, has other numbers. With them a code would
    be 0.1 to 0.6 degrees less between 0 and 125, so the two cannot be mixed up unnoticed.
    """
    for celsius in (0, 125):
        code = TEMPERATURES[celsius]
        external = code * 507.5921310 / 2**16 - 279.42657680
        assert 0.1 < sensors.temperature(code) - external < 0.6


@pytest.mark.parametrize("volts", VOLTAGES)
def test_a_voltage_and_its_code_agree(volts):
    """voltage() gives the voltage of UG580's formula for a code, and voltage_code() gives the code
    back.
    """
    assert sensors.voltage(VOLTAGES[volts]) == pytest.approx(volts, abs=3e-5)
    assert sensors.voltage_code(volts) == VOLTAGES[volts]


@pytest.mark.parametrize("clock", [250e6, 125e6, 62.5e6])
def test_the_converter_is_within_its_clock(clock):
    """divider() gives the sensors' converter a clock of at most 5.2 MHz, as DS922 asks, and of at
    least 90 % of that.
    """
    rate = clock / sensors.divider(clock)
    assert 0.9 * 5.2e6 < rate <= 5.2e6


def primitive(monitor):
    (found,) = [s for s in monitor._fragment.specials if isinstance(s, Instance)]
    return {item.name: item for item in found.items}


def test_the_primitive_is_set_up_for_this_clock_and_these_limits():
    """The primitive's parameters have the values of settings() in place of LiteX's, its pin CHANNEL
    has 6 bits, and no limit lets the FPGA power itself down.
    """
    pins = primitive(sensors.system_monitor(250e6))
    for number, value in sensors.settings(250e6).items():
        assert pins[f"INIT_{number:02X}"].value.value == value, hex(number)
    assert len(pins["CHANNEL"].expr) == 6
    assert pins["INIT_42"].value.value >> 8 == 49
    assert pins["INIT_53"].value.value & 0xF != 3
    assert pins["INIT_50"].value.value == TEMPERATURES[85]


def fake_monitor():
    """Return what a Sensors needs of LiteX's monitor: its alarms and the end of a sequence."""
    return SimpleNamespace(alarm=Signal(16), ot=Signal(), sequence_end=Signal())


def alarm_bits(monitor):
    """Return the signals of the alarms in the order of the register `alarms`."""
    return [monitor.ot, *(monitor.alarm[bit] for bit in range(4))]


@each_seed(8)
def test_an_alarm_is_shown_and_remembered_until_it_is_cleared(seed):
    """`alarms` shows the alarms that are on, and `seen` those since its bits were cleared.

    Clearing the bit of an alarm that is on leaves it set.
    """
    rng = random.Random(seed)
    monitor = fake_monitor()
    bench = CsrBench(Sensors(250e6, monitor))

    def set_alarms(value):
        yield monitor.ot.eq(value & 1)
        yield monitor.alarm.eq(value >> 1)
        yield from wait(4)

    def check():
        seen = 0
        for _ in range(20):
            now, cleared = rng.randrange(1 << ALARMS), rng.randrange(1 << ALARMS)
            yield from set_alarms(now)
            seen |= now
            assert (yield from bench.read("alarms")) == now
            assert (yield from bench.read("seen")) == seen
            assert (yield bench.dut.over_temperature) == now & 1
            yield from bench.write("clear", cleared)
            yield
            seen = seen & ~cleared | now
            assert (yield from bench.read("seen")) == seen

    simulate(bench, [check()])


def test_sequences_count_the_ends_of_sequences():
    """The register `sequences` of the sensors advances by one with each pulse of the primitive's
    output EOS.
    """
    monitor = fake_monitor()
    bench = CsrBench(Sensors(250e6, monitor))

    def check():
        for count in range(5):
            assert (yield from bench.read("sequences")) == count
            yield monitor.sequence_end.eq(1)
            yield
            yield monitor.sequence_end.eq(0)
            yield

    simulate(bench, [check()])
