# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A board that was built with waves writes a wave file of the window of device time that the
options ask for.

The board with waves is a second build of the same gateware. It is kept in the same cache of builds
as the board without waves.
"""

import struct

import pytest

from sim.board.build import build_board
from sim.test.board.board_process import run_board

# An FST wave file begins with a header block, which has the first and the last time. These are the
# block's type and its length in bytes.
HEADER_BLOCK, HEADER_BYTES = 0, 329
# Offset in bytes of the unit of time in the header of an FST wave file, and the unit's value for
# ps.
TIMESCALE_AT, PICOSECONDS = 73, 0xF4


@pytest.fixture(scope="module")
def waves_executable(gateware):
    return build_board(gateware, waves=True, quiet=True)


def start_and_end(path):
    """Return the first and the last time in the FST wave file `path`, in ns."""
    data = path.read_bytes()
    kind, length, start, end = struct.unpack_from(">BQQQ", data)
    assert (kind, length) == (HEADER_BLOCK, HEADER_BYTES), "no FST file"
    assert data[TIMESCALE_AT] == PICOSECONDS
    return start / 1000, end / 1000


def write_waves(start_board, program, path, *options):
    """Run a board that writes waves to `path`, and read a register ten times. Returns the device
    time of the run in ns."""
    with start_board("--waves", path, *options, program=program) as board:
        card = board.card()
        for _ in range(10):
            card.read("ctrl_scratch")
        return board.stats()["cycles"] * 4


def test_a_window_of_device_time(start_board, waves_executable, tmp_path):
    """With --waves-from 2000 and --waves-to 3000, the first and the last time in the wave file are
    exactly 2000 ns and 3000 ns."""
    path = tmp_path / "window.fst"
    options = ["--waves-from", 2000, "--waves-to", 3000]
    assert write_waves(start_board, waves_executable, path, *options) > 3000
    assert start_and_end(path) == (2000, 3000)


def test_waves_from_the_first_cycle_to_the_last(start_board, waves_executable, tmp_path):
    """Without --waves-from and --waves-to the wave file covers the whole run, from 0 ns to the
    end."""
    path = tmp_path / "all.fst"
    ran = write_waves(start_board, waves_executable, path)
    start, end = start_and_end(path)
    assert start == 0 and ran <= end < ran + 2000


def test_waves_change_nothing(start_board, waves_executable, executable, tmp_path):
    """Ten register reads take the same device time on a board with waves as on one without."""
    with_waves = write_waves(start_board, waves_executable, tmp_path / "w.fst")
    with start_board(program=executable) as board:
        card = board.card()
        for _ in range(10):
            card.read("ctrl_scratch")
        assert board.stats()["cycles"] * 4 == with_waves


def test_a_board_without_waves_says_so(start_board, executable, tmp_path):
    """If the board was built without waves, the option --waves ends it with status 1. The error
    says how to build a board with waves."""
    status, _, err = run_board(
        executable, "--socket", tmp_path / "s", "--waves", tmp_path / "w.fst"
    )
    assert status == 1 and "built without waves; build it with --waves" in err
