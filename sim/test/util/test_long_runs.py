# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of `make test` with a hundred times their amounts: no data is lost or repeated.

These tests take an hour or more each. `make soak` alone runs them. With `-s` pytest shows how far
each test is, and its seed where it has one:

    .venv/bin/python -m pytest -s -n 0 sim/test/util/test_long_runs.py

LONG_SHARE=200 runs a two-hundredth of all counts, to try the tests out. LANEBOX_SEED shifts the
seeds.
"""

import os

import pytest
import test_user_requests as requests

from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.guest import run
from sim.test.driver import test_guest_driver_fuzz as fuzz
from sim.test.driver import test_guest_driver_held as held
from sim.test.driver.driver_guest import boot
from tools.testing.seeds import SHIFT

pytestmark = pytest.mark.soak
SHARE = int(os.environ.get("LONG_SHARE", "1"))
# buffers of 4 KiB that a program takes in random amounts and with random pauses
BUFFERS = 1_000_000 // SHARE
RUNS = 10_000 // SHARE  # DMA runs that a program stops at random times
CALLS = 1_000_000 // SHARE  # calls of the driver by the program `fuzz`, half of them random
BYTES = (1 << 30) // SHARE // 4096 * 4096  # bytes that `cat` moves through the card and back
# Packets that go one at a time. Three further runs have an eighth of this number each, two of them
# with 16 packets at a time.
PACKETS = {"board": 1_000_000 // SHARE, "guest": 100_000 // SHARE}
HOURS = 3600


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


@pytest.mark.guest
def test_a_gigabyte_goes_through_cat(start_board):
    """`cat` moves a gigabyte through the driver's device node, the card and back. Each word is
    compared."""
    commands = held.poured(BYTES)
    with start_board() as board:
        files = boot(board, commands, None, ["words"], timeout=HOURS, live=True).files
    assert files["poured"].decode() == f"{BYTES} bytes right\n"


@pytest.mark.guest
def test_a_million_buffers_are_held(start_board):
    """In held runs of the driver, in which the card waits for software, a million buffers are
    compared without an error. The card still works after ten thousand runs that were stopped in the
    middle."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    commands = held.held(BUFFERS, RUNS, seed)
    with start_board() as board:
        held.check_held(boot(board, commands, None, ["held"], timeout=2 * HOURS, live=True).files)


@pytest.mark.guest
def test_a_million_calls_do_no_harm(start_board):
    """A million random calls of the driver reach each of its branches at least a thousand times."""
    seed = 2 + SHIFT
    print(f"seed {seed}")
    with start_board("--pace", "400000") as board:
        counts, branches = fuzz.fuzz(board, CALLS, seed, 2 * HOURS, live=True)
        assert board.stats()["unmapped"] == 0
    fuzz.check(counts, branches, CALLS)


@pytest.mark.parametrize("way", requests.WAYS)
def test_a_million_requests_have_their_answers(way):
    """Each of a million packets on the board, and of a hundred thousand in a guest, is compared.

    Nothing in this test is random: packet n always has the same bytes.
    """
    built = artefacts.build(DEFAULT, requests.PACKET_ENDS)
    number = PACKETS["board" if way is requests.on_the_board else "guest"]
    with BoardProcess(built.board) as board:
        csr = built.gateware / "csr.json"
        text = way(board, csr, "packets", number, timeout=3 * HOURS, live=True)
    requests.check_packets(text, number)
