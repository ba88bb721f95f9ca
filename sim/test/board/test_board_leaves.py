# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""BoardProcess, when the board ends or does not start: the caller's error has the reason that the
board wrote on stderr, and nothing of the board is left behind."""

import subprocess
import sys
import tempfile

import pytest

from sim.board.process import BoardProcess
from sim.errors import BoardFailed

# A Python program in place of the board. It closes its control connection 0.3 s before it writes
# the reason of its end to stderr.
LEAVES = """
import socket, sys, time
at = dict(zip(sys.argv[1::2], sys.argv[2::2]))
control = socket.socket(socket.AF_UNIX)
control.bind(at["--control"])
control.listen()
print("listening", flush=True)
channel, _ = control.accept()
channel.close()
time.sleep(0.3)
print("the rule that was broken", file=sys.stderr)
sys.exit(3)
"""


def program_in(folder, text):
    """Write a Python program that takes the place of the board. Return its path."""
    program = folder / "board"
    program.write_text(f"#!{sys.executable}\n{text}")
    program.chmod(0o755)
    return program


def test_a_board_may_close_its_sockets_before_it_says_why(tmp_path):
    """The error has the board's reason even if the board closes its sockets some time before it
    writes the reason, as happens on a busy machine."""
    with BoardProcess(program_in(tmp_path, LEAVES)) as board:
        with pytest.raises(BoardFailed, match="the rule that was broken"):
            board.stats()
    assert board.status == 3


def test_no_connection_is_left_open(tmp_path):
    """The control connection and its file are closed when the board has ended, also if the last
    command never reached it."""
    with BoardProcess(program_in(tmp_path, LEAVES)) as board:
        with pytest.raises(BoardFailed):
            board.stats()
    assert board._lines.closed and board._channel.fileno() == -1
    assert not board.directory.exists()


def test_a_board_that_cannot_start_leaves_no_folder(tmp_path, monkeypatch):
    """If the system starts no process, the temporary folder is removed, and the caller gets the
    system's error."""

    def refuse(*_, **__):
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(BlockingIOError):
        BoardProcess(tmp_path / "board").__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_board_that_says_nothing_leaves_no_folder(tmp_path, monkeypatch):
    """A board that ends before it listens is an error with the board's words, and its temporary
    folder is removed."""
    program = program_in(tmp_path, "import sys; sys.exit('no memory is free')")
    (tmp_path / "made").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "made"))
    with pytest.raises(BoardFailed, match="no memory is free"):
        BoardProcess(program).__enter__()
    assert list((tmp_path / "made").iterdir()) == []
