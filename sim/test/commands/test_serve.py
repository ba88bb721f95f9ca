# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`make board` starts a board that stays for one client after another. Its user slot can have logic
from any folder."""

import os
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from sim import examples
from sim.serve import SOCKET
from sim.test.board.board_builds import ROOT

COMMAND = ["make", "board"]  # command with which a user starts the simulated board


@pytest.fixture
def logic(tmp_path):
    """Return the path of a copy of the example `scale` in a folder outside the repository, where a
    user's own logic would be."""
    return shutil.copytree(examples.EXAMPLES / "scale", tmp_path / "scale")


def started(*options):
    """Start `make board` with these options. Returns (the process, the commands that it prints for
    its user, as argument lists)."""
    board = subprocess.Popen(
        [*COMMAND, *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    lines = []
    while not lines or not lines[-1].startswith("Ctrl-C"):
        line = board.stdout.readline()
        assert line, board.stderr.read()
        lines.append(line.strip())
    return board, [shlex.split(line) for line in lines if line.startswith("build/")]


def ended(board):
    """End `make board` as Ctrl-C in a terminal does, by SIGINT to all of its processes. Fail unless
    it prints its last sentence and removes the link build/board.sock."""
    os.killpg(board.pid, signal.SIGINT)
    _, said = board.communicate(timeout=20)
    assert "The board has ended." in said and "Traceback" not in said
    assert not SOCKET.is_symlink()


def test_a_board_stays_for_one_client_after_another(logic, one_board):
    """The commands that `make board` prints run unchanged, each of them twice. They show the
    registers of the user's logic by name."""
    board, commands = started(f"EXAMPLE={logic}")
    try:
        for command in commands * 2:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
            assert done.returncode == 0, done.stderr
        assert "user_shift" in done.stdout
    finally:
        ended(board)


def test_a_board_with_the_capture_block_records(one_board):
    """With CAPTURE=4, `make board` prints a command that records frames. It runs unchanged, and
    the card has four queues."""
    board, commands = started("CAPTURE=4")
    try:
        (record,) = (words for words in commands if words[0].endswith("lanebox-capture"))
        (ROOT / record[-1]).unlink(missing_ok=True)
        done = subprocess.run(record, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert (ROOT / record[-1]).stat().st_size > 20_000 * 96
        info = [record[0], "info", *record[2:4], "--queue", "3"]
        assert subprocess.run(info, cwd=ROOT, stdout=subprocess.DEVNULL).returncode == 0
        assert subprocess.run([*info[:-1], "4"], cwd=ROOT, stdout=subprocess.DEVNULL).returncode
    finally:
        ended(board)


def test_a_second_one_hears_of_the_first(one_board):
    """While `make board` runs, a second `make board` is refused at once with a sentence about the
    first. The first board can still be used."""
    board, (command, _) = started()
    try:
        begun = time.monotonic()
        second = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert second.returncode and time.monotonic() - begun < 30
        assert "build/board.sock is another `make board`'s: end that one first" in second.stderr
        assert subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL).returncode == 0
    finally:
        ended(board)
