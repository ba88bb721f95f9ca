# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of `lanebox-capture record --clock` on the simulated card: whose time the packets of a file
have, as tshark reads it."""

import time

import pytest

from gateware import numbers
from sim.test.card.test_board_capture import Generated
from sim.test.util.capture_tool import Tool, compare, packets, running_tool

NS = 10**9


@pytest.fixture
def tool():
    with running_tool() as tool:
        yield tool


def record(tool: Tool, frames, folder, name, *options):
    """Record the frames. Return the packets' times in ns, after a comparison with the frames."""
    report = tool.record(frames, *options, folder / name)
    found = packets(folder / name, folder)
    assert compare(report, frames, found) == list(range(frames.count))
    starts = [start * numbers.TICK_NS for start in frames.starts()]
    times = [ns for ns, *_ in found]
    assert [ns - times[0] for ns in times] == starts
    return times


def test_packets_have_the_host_s_time_if_it_is_asked_for(tool, tmp_path):
    """On a simulated card packets have the time since the card's reset, and with --clock host that
    of the host. The next program resets the card, and its clock. The packets' distances stay the
    same."""
    frames = Generated(100, 3000, count=300)
    assert record(tool, frames, tmp_path, "a.pcapng")[-1] < NS
    begin = time.time_ns()
    first, *_, last = record(tool, frames, tmp_path, "b.pcapng", "--clock", "host")
    end = time.time_ns()
    assert begin <= first < last <= end
    assert record(tool, frames, tmp_path, "c.pcapng", "--clock", "card")[-1] < NS


def test_another_clock_is_refused(tool, tmp_path):
    """A word that is no clock gets a sentence, and no file is made."""
    file = tmp_path / "a.pcapng"
    why = tool.run("record", "--clock", "tai", file, status=2)
    assert "--clock tai: it must be auto, card or host" in why
    assert not file.exists()
