# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Waves: a board built for them writes the window of device time that was asked for.

The board with waves is a second build; like the first it is made once for the same content.
"""

import struct

import pytest
from board_process import run_board

from sim.board.build import build_board

HEADER_BLOCK, HEADER_BYTES = 0, 329  # of an FST file: type, length, start and end in time units
TIMESCALE_AT, PICOSECONDS = 73, 0xF4


@pytest.fixture(scope="module")
def waves_executable(gateware):
    return build_board(gateware, waves=True, quiet=True)


def start_and_end(path):
    """First and last time in an FST file, in ns."""
    data = path.read_bytes()
    kind, length, start, end = struct.unpack_from(">BQQQ", data)
    assert (kind, length) == (HEADER_BLOCK, HEADER_BYTES), "no FST file"
    assert data[TIMESCALE_AT] == PICOSECONDS
    return start / 1000, end / 1000


def write_waves(start_board, program, path, *options):
    """Ten reads under a board with waves; the device time that passed, in ns."""
    with start_board("--waves", path, *options, program=program) as board:
        card = board.card()
        for _ in range(10):
            card.read("ctrl_scratch")
        return board.stats()["cycles"] * 4


def test_a_window_of_device_time(start_board, waves_executable, tmp_path):
    """--waves-from and --waves-to are the first and last time in the file, to the cycle."""
    path = tmp_path / "window.fst"
    options = ["--waves-from", 2000, "--waves-to", 3000]
    assert write_waves(start_board, waves_executable, path, *options) > 3000
    assert start_and_end(path) == (2000, 3000)


def test_waves_from_the_first_cycle_to_the_last(start_board, waves_executable, tmp_path):
    """Without a window the whole run is in the file."""
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
    """--waves needs its own build; the error says how to get it."""
    status, _, err = run_board(
        executable, "--socket", tmp_path / "s", "--waves", tmp_path / "w.fst"
    )
    assert status == 1 and "built without waves; build it with --waves" in err
