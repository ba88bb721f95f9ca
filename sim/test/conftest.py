# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures of the tests that need a board: built once, started as each test wants it."""

import contextlib
import sys

import pytest
from bench_card import BenchCard, build_bench
from board_builds import ROOT, build_executable, build_gateware, register_map
from board_process import WatchedBoard

from lanebox.locks import locked
from sim.report.page import REPORT
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


def started_boards(program, csr, tmp_path):
    """Yield a function that starts boards, and leave none of them running."""
    boards = []

    def start(*options, log=False, program=program, **expectations):
        path = tmp_path / f"tlp-{len(boards)}.log" if log else None
        options = [str(option) for option in options]
        boards.append(WatchedBoard(program, csr, options, path, **expectations))
        return boards[-1]

    yield start
    for board in boards:
        process = getattr(board, "process", None)
        if process and process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture
def start_board(executable, tmp_path):
    """Start boards: `with start_board("--mps", "256", log=True) as board:` (see WatchedBoard).

    `log=True` writes the TLP log, which `board.tlps()` reads after the board's end.
    """
    yield from started_boards(executable, register_map(), tmp_path)


@pytest.fixture
def start_stock(tmp_path):
    """As start_board, with LitePCIe's endpoint, which breaks the rules in `TOLERATED`."""
    yield from started_boards(build_executable("litepcie"), register_map("litepcie"), tmp_path)


@pytest.fixture
def boards_of(tmp_path):
    """As start_board, for a test's own program and register map: `boards_of(program, csr)`."""
    with contextlib.ExitStack() as stack:

        def starter(program, csr):
            started = contextlib.contextmanager(started_boards)(program, csr, tmp_path)
            return stack.enter_context(started)

        yield starter


@pytest.fixture
def start_msix(tmp_path):
    """As start_board, with the gateware that has MSI-X."""
    yield from started_boards(build_executable(msix=True), register_map(msix=True), tmp_path)


@pytest.fixture
def bench(tmp_path):
    """Start a board around bench_card.sv: `with bench("--bar2", "64K") as (board, card):`"""

    @contextlib.contextmanager
    def start(*options, mps=256, mrrs=512, **expectations):
        with starter(*options, **expectations) as board:
            card = BenchCard(board.socket, mps, mrrs)
            board._clients.append(card)
            yield board, card

    boards = started_boards(build_bench(), {}, tmp_path)
    starter = next(boards)
    yield start
    next(boards, None)


@pytest.fixture
def one_board():
    """Hold a lock: only one test at a time may start the user's one board, build/board.sock."""
    with locked(ROOT / "build" / "test-board.lock"):
        yield


@pytest.fixture
def results_kept():
    """Hide the user's results from the test, and restore them after it. The test's are deleted."""
    files = (RESULTS, REPORT)
    kept = {path: path.read_bytes() for path in files if path.exists()}
    for path in files:
        path.unlink(missing_ok=True)
    yield
    for path in files:
        path.unlink(missing_ok=True)
        if path in kept:
            path.write_bytes(kept[path])
