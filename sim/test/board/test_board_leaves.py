# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""BoardProcess, when the board ends during a command: the error that the caller gets has the reason
that the board wrote on stderr."""

import sys

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


def test_a_board_may_close_its_sockets_before_it_says_why(tmp_path):
    """The error has the board's reason even if the board closes its sockets some time before it
    writes the reason, as happens on a busy machine."""
    program = tmp_path / "board"
    program.write_text(f"#!{sys.executable}\n{LEAVES}")
    program.chmod(0o755)
    with BoardProcess(program) as board:
        with pytest.raises(BoardFailed, match="the rule that was broken"):
            board.stats()
    assert board.status == 3
