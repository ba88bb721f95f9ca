# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Pytest fixtures of the tests that need a board. The program of a board is built once, and each
test starts it with its own options."""

import contextlib

import pytest

from sim.report.page import REPORT
from sim.rows.results import RESULTS
from sim.test.board.bench_card import BenchCard, build_bench
from sim.test.board.board_builds import ROOT, build_executable, build_gateware, register_map
from sim.test.board.board_process import WatchedBoard
from tools.locks import locked
from tools.testing.seeds import SHIFT


def pytest_report_header():
    return f"LANEBOX_SEED={SHIFT} (shifts every test's seeds; set it to repeat or to vary a run)"


@pytest.fixture(scope="session")
def gateware():
    return build_gateware()


@pytest.fixture(scope="session")
def executable():
    return build_executable()


def started_boards(program, csr, tmp_path):
    """Yield a function that starts boards with this program and register map. Boards that still run
    after the test are killed."""
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
    """Return a function that starts a board: `with start_board("--mps", "256", log=True) as
    board:`. See WatchedBoard.

    With `log=True` the board writes its TLP log, which `board.tlps()` reads after the board's end.
    """
    yield from started_boards(executable, register_map(), tmp_path)


@pytest.fixture
def start_stock(tmp_path):
    """Return a function that starts boards, as start_board does, whose gateware has LitePCIe's
    endpoint. This endpoint may break the rules in TOLERATED."""
    yield from started_boards(build_executable("litepcie"), register_map("litepcie"), tmp_path)


@pytest.fixture
def boards_of(tmp_path):
    """Return a function that takes a board's program and a register map, and returns a function
    that starts such boards, as start_board does."""
    with contextlib.ExitStack() as stack:

        def starter(program, csr):
            started = contextlib.contextmanager(started_boards)(program, csr, tmp_path)
            return stack.enter_context(started)

        yield starter


@pytest.fixture
def start_msix(tmp_path):
    """Return a function that starts boards as start_board does, but with MSI-X in their
    gateware."""
    yield from started_boards(build_executable(msix=True), register_map(msix=True), tmp_path)


@pytest.fixture
def bench(tmp_path):
    """Return a function that starts a board with bench_card.sv as gateware and enumerates its card:
    `with bench("--bar2", "64K") as (board, card):`."""

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
    """Hold a lock during the test, since only one test at a time may start a user's board, whose
    socket is build/board.sock."""
    with locked(ROOT / "build" / "test-board.lock"):
        yield


@pytest.fixture
def results_kept():
    """Put the user's results and report away during the test, and restore them afterwards. Those
    that the test has written are deleted."""
    files = (RESULTS, REPORT)
    kept = {path: path.read_bytes() for path in files if path.exists()}
    for path in files:
        path.unlink(missing_ok=True)
    yield
    for path in files:
        path.unlink(missing_ok=True)
        if path in kept:
            path.write_bytes(kept[path])
