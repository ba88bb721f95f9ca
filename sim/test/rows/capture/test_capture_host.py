# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/capture/host.py: what a captured packet costs a program, counted and not
timed."""

import pytest

from sim.errors import TestFailed
from sim.rows.capture import host


def test_a_walk_through_records_takes_20_instructions_a_packet():
    """A program's loop over the records of a capture ring takes 20 instructions or fewer for a
    packet. It counts packets, bytes and time by the library's inline calls."""
    cost = host.walked(host.program())
    print(f"capture/insn/packet: {cost:.2f}")
    # Each of the record's seven words that the loop needs is loaded by an instruction of its own.
    assert 7 <= cost <= 20


def test_a_program_that_fails_has_no_count():
    """If the program whose instructions are counted fails, host.counted() returns no number, but
    raises TestFailed with what the program printed."""
    with pytest.raises(TestFailed, match="a.pcapng"):
        made = str(host.program())
        host.counted([], "x", made, "record", "2", "/nowhere/a.pcapng")


@pytest.mark.soak  # the test records 800 MB to disk
def test_a_recording_costs_less_than_an_instruction_a_packet():
    """The recorder takes one instruction in user space or less for a packet of 64 B, which is less
    than any copy, and 64 system calls or fewer for a GiB, of which 16 give the card new limits."""
    rows = {entry.id: entry for entry in host.rows()}
    for name, entry in rows.items():
        print(name, entry.value, entry.unit, entry.conditions)
    assert 0 < rows["capture/insn/record"].value <= 1
    assert 0 < rows["capture/syscalls"].value <= 64
    assert rows["capture/syscalls"].conditions["limits"] == 16
    assert rows["capture/insn/packet"].value <= 20
