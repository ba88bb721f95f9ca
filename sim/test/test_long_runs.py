# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What `make test` does ten thousand times is done a million times: nothing is lost or repeated.

These tests take half an hour to an hour each. `make soak` alone runs them.
"""

import pytest
import test_guest_driver_held as held
import test_user_requests as requests
from driver_guest import boot
from seeds import SHIFT

from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.guest import run

pytestmark = pytest.mark.soak
BUFFERS = 1_000_000  # of 4 KiB, in random amounts, with random pauses
RUNS = 10_000  # runs that are stopped at random
PACKETS = {"board": 1_000_000, "guest": 100_000}  # one at a time; an eighth more goes 16 at a time
HOURS = 3600


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


@pytest.mark.guest
def test_a_gigabyte_goes_through_cat(start_board):
    """A gigabyte goes through the card and back by cat, and each word is compared."""
    with start_board() as board:
        files = boot(board, held.poured(1 << 30), None, ["words"], timeout=HOURS).files
    assert files["poured"] == b"1073741824 bytes right\n"


@pytest.mark.guest
def test_a_million_buffers_are_held(start_board):
    """A million buffers are compared, and ten thousand runs are stopped in the middle."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    with start_board() as board:
        commands = held.held(BUFFERS, RUNS, seed)
        held.check_held(boot(board, commands, None, ["held"], timeout=2 * HOURS).files)


@pytest.mark.parametrize("way", requests.WAYS)
def test_a_million_requests_have_their_answers(way):
    """Each of a million packets on the board, and a hundred thousand in a guest, is compared."""
    built = artefacts.build(DEFAULT, requests.PACKET_ENDS)
    number = PACKETS["board" if way is requests.on_the_board else "guest"]
    with BoardProcess(built.board) as board:
        text = way(board, built.gateware / "csr.json", "packets", number, timeout=HOURS)
    requests.check_packets(text, number)
