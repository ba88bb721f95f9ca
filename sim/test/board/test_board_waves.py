# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Waves: a board built for them writes the window of device time that was asked for.

This board is a second build. It is kept like the first, once for the same content.
"""

import struct

import pytest

from sim.board.build import build_board
from sim.test.board.board_process import run_board

# type and length of an FST file's first block, which has start and end time
HEADER_BLOCK, HEADER_BYTES = 0, 329
TIMESCALE_AT, PICOSECONDS = 73, 0xF4


@pytest.fixture(scope="module")
def waves_executable(gateware):
    return build_board(gateware, waves=True, quiet=True)


def start_and_end(path):
    """First and last time in an FST wave file, in ns."""
    data = path.read_bytes()
    kind, length, start, end = struct.unpack_from(">BQQQ", data)
    assert (kind, length) == (HEADER_BLOCK, HEADER_BYTES), "no FST file"
    assert data[TIMESCALE_AT] == PICOSECONDS
    return start / 1000, end / 1000


def write_waves(start_board, program, path, *options):
    """Do ten register reads on a board that writes waves; returns the device time that passed, in
    ns."""
    with start_board("--waves", path, *options, program=program) as board:
        card = board.card()
        for _ in range(10):
            card.read("ctrl_scratch")
        return board.stats()["cycles"] * 4


def test_a_window_of_device_time(start_board, waves_executable, tmp_path):
    """With --waves-from and --waves-to, these are the first and last time in the wave file, to the
    cycle."""
    path = tmp_path / "window.fst"
    options = ["--waves-from", 2000, "--waves-to", 3000]
    assert write_waves(start_board, waves_executable, path, *options) > 3000
    assert start_and_end(path) == (2000, 3000)


def test_waves_from_the_first_cycle_to_the_last(start_board, waves_executable, tmp_path):
    """Without --waves-from and --waves-to the wave file has the whole run."""
    path = tmp_path / "all.fst"
    ran = write_waves(start_board, waves_executable, path)
    start, end = start_and_end(path)
    assert start == 0 and ran <= end < ran + 2000


def test_waves_change_nothing(start_board, waves_executable, executable, tmp_path):
    """The same reads take the same device time with waves and without."""
    with_waves = write_waves(start_board, waves_executable, tmp_path / "w.fst")
    with start_board(program=executable) as board:
        card = board.card()
        for _ in range(10):
            card.read("ctrl_scratch")
        assert board.stats()["cycles"] * 4 == with_waves


def test_a_board_without_waves_says_so(start_board, executable, tmp_path):
    """--waves on a board that was built without waves is an error that says how to build one with
    them."""
    status, _, err = run_board(
        executable, "--socket", tmp_path / "s", "--waves", tmp_path / "w.fst"
    )
    assert status == 1 and "built without waves; build it with --waves" in err
