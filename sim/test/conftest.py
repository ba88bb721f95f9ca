# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures of the tests that need a board: built once, started as each test wants it."""

import sys

import pytest
from board_builds import ROOT, build_executable, build_gateware, register_map
from board_process import WatchedBoard

from sim.results import RESULTS

sys.path.append(str(ROOT / "test"))  # the unit tests' folder: these tests share their seeds

from seeds import SHIFT  # noqa: E402


def pytest_report_header():
    return f"LANEBOX_SEED={SHIFT} (shifts every test's seeds; set it to repeat or to vary a run)"


@pytest.fixture(scope="session")
def gateware():
    return build_gateware()


@pytest.fixture(scope="session")
def executable():
    return build_executable()


@pytest.fixture
def start_board(executable, tmp_path):
    """Start boards: `with start_board("--mps", "256", log=True) as board:` (see WatchedBoard).

    `log=True` writes the TLP log, which `board.tlps()` reads after the board's end.
    """
    boards = []

    def start(*options, log=False, program=executable, **expectations):
        path = tmp_path / f"tlp-{len(boards)}.log" if log else None
        options = [str(option) for option in options]
        boards.append(WatchedBoard(program, register_map(), options, path, **expectations))
        return boards[-1]

    yield start
    for board in boards:
        process = getattr(board, "process", None)
        if process and process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture
def results_kept():
    """The test finds no results, and the user's own are back after it: a test's are nobody's."""
    kept = RESULTS.read_bytes() if RESULTS.exists() else None
    RESULTS.unlink(missing_ok=True)
    yield
    RESULTS.unlink(missing_ok=True)
    if kept is not None:
        RESULTS.write_bytes(kept)
