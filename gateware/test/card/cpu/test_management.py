# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The management CPU with its own firmware, without the rest of the card: start, sleep, console,
heat, wrong images, and firmware that hangs or runs wild.
"""

import pytest

from gateware import numbers
from gateware.card.cpu import image, layout
from gateware.test.card.cpu.cpu_bench import CpuBench
from tools.testing.mailbox import compile_alone

RESET, LOW_POWER = 1, 2
DIVIDER = layout.CLOCK_DIVIDER
# The starter takes 18 cycles for a word of the image, and some around them.
CHECK_CYCLES = 18
THOUSAND = 1000

HANG = "int main(void) { for (;;); }"
# Firmware that writes to the DMA, to the flash, to a cage and over its own image.
WILD = """
#include "card.h"
int main(void) {
    reg_write(0x80002000u, 1);
    reg_write(0x80009800u, 0x1234);
    reg_write(0x8000c800u, 1);
    for (uint32_t at = 0; at < 8192; at += 4)
        reg_write(at, 0);
    for (;;) {
        reg_write(OWN_HEARTBEAT, 1);
        reg_write(OWN_SLEEP, 1);
    }
}
"""

pytestmark = pytest.mark.skipif(image.compiler() is None, reason="no RISC-V compiler")


@pytest.fixture
def cpu():
    """Return a management CPU that has started and sleeps."""
    cpu = CpuBench()
    cpu.settle()
    return cpu


def test_the_image_is_small(cpu):
    """The image of the default firmware has at most 8 KiB."""
    print(f"image: {len(cpu.image)} bytes")
    assert len(cpu.image) <= numbers.CPU_IMAGE_SIZE == 8192


def test_it_sleeps_within_a_thousand_of_its_cycles():
    """From its release on the firmware is awake for less than a thousand cycles of the CPU."""
    cpu = CpuBench()
    took = cpu.settle()
    awake = (took - CHECK_CYCLES * len(cpu.image) // 4) // DIVIDER
    print(f"start: {took} cycles, of which the CPU was awake for {awake} of its own")
    assert cpu.status() == ("running", False, 0, 0)
    assert cpu.word("sign") == layout.MAILBOX_MAGIC
    assert 100 < awake < THOUSAND


def test_a_sleeping_or_held_cpu_is_no_work(cpu):
    """A CPU asleep with its tick armed, or held in reset, does not keep device time running."""
    before = cpu.busy_cycles()
    cpu.run(100_000)
    assert cpu.busy_cycles() == before
    cpu.write("management_control", 1)
    cpu.settle()
    before = cpu.busy_cycles()
    cpu.run(100_000)
    assert cpu.busy_cycles() == before and cpu.status()[0] == "held"


def test_the_console_echoes_and_answers(cpu):
    """The firmware's console echoes typed text and answers lines, each with an interrupt."""
    cpu.type("hel")
    assert cpu.printed() == "hel" and cpu.rings() == 1
    cpu.type("p\rpeek 4\r")
    assert cpu.printed() == "p\ncommands: version, log, peek OFFSET\n> peek 4\n12345678\n> "
    cpu.type("log\r")
    assert cpu.printed() == "log\nstart\n> "
    assert cpu.rings() == 3


def test_heat_quiets_both_modules(cpu):
    """At over-temperature both cages get reset and low power; cooled, low power is left."""
    for name in ("module0_control", "module1_control"):
        cpu.write(name, 0)
    cpu.inputs(hot=True)
    cpu.settle()
    assert [cpu.read(f"module{n}_control") for n in range(2)] == [RESET | LOW_POWER] * 2
    cpu.inputs(hot=False)
    cpu.settle()
    assert [cpu.read(f"module{n}_control") for n in range(2)] == [LOW_POWER] * 2
    assert cpu.log() == "start\nhot: modules in reset\ncool: modules in low power\n"


def test_a_firmware_that_hangs_is_given_up_after_three_starts(cpu, tmp_path):
    """The management CPU starts a firmware without a heartbeat three times, and is then kept in
    reset, which is not work. With the good image the CPU runs again, and the log is still there.
    """
    cpu.load(compile_alone(tmp_path / "hang", HANG))
    took = cpu.settle()
    assert cpu.status() == ("given_up", False, layout.STARTS, 0)
    assert layout.STARTS * layout.PATIENCE < took < layout.STARTS * (layout.PATIENCE + 20_000)
    cpu.load(cpu.image)
    cpu.settle()
    assert cpu.status() == ("running", False, 0, 0)
    assert cpu.log() == "start\nstart\n"


@pytest.mark.parametrize("kept", [0, 8, 100, -4])
def test_an_image_cut_short_is_not_started(cpu, kept):
    """The management CPU does not start an image of which only the first `kept` bytes have come. It
    starts the whole image.
    """
    raw = cpu.image
    kept %= len(raw)
    cpu.load(raw[:kept] + bytes(len(raw) - kept))
    cpu.settle()
    assert cpu.status()[0] == "bad_image"
    cpu.load(raw)
    cpu.settle()
    assert cpu.status()[0] == "running"


def test_a_running_cpus_image_cannot_be_written(cpu):
    """The host's writes to the image of a CPU that is not held change nothing."""
    before = cpu.peek(numbers.CPU_IMAGE_BASE + 16)
    cpu.poke(numbers.CPU_IMAGE_BASE + 16, ~before)
    assert cpu.peek(numbers.CPU_IMAGE_BASE + 16) == before


def test_a_wild_firmware_reaches_only_its_own(cpu, tmp_path):
    """The management CPU's writes to the DMA, the flash and its own image are dropped. Its writes
    to a QSFP cage's registers arrive. After a restart the CPU runs again, since its image is whole.
    """
    cpu.write("module0_control", 0)
    cpu.load(compile_alone(tmp_path / "wild", WILD))
    cpu.settle()
    assert cpu.status() == ("running", False, 0, 2)
    assert cpu.read("module0_control") == RESET
    cpu.restart()
    cpu.settle()
    assert cpu.status()[0] == "running"


def test_a_reset_keeps_the_last_words(cpu):
    """The firmware's log outlives restarts of the CPU, and a reset of the card."""
    for _ in range(2):
        cpu.restart()
        cpu.settle()
    cpu.reset()
    cpu.settle()
    assert cpu.log() == "start\n" * 4


def test_commands_are_answered(cpu):
    """The firmware answers the mailbox's commands with its version, and with a register's value."""
    version = image.Firmware(image.DEFAULT).version()
    for number, (code, argument, value) in enumerate(
        [("version", 0, version), ("peek", 4, 0x12345678), ("peek", 3, 0xFFFFFFFF)], start=1
    ):
        cpu.set_word("argument", argument)
        cpu.set_word("command", number << 16 | layout.COMMANDS[code])
        cpu.write("management_doorbell", 1)
        cpu.settle()
        assert cpu.word("answered") == number << 16 | layout.COMMANDS[code]
        assert cpu.word("value") == value
