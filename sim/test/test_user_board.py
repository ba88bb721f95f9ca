# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""liblitepcie's test programs (software/user/test) on the real gateware, without a machine."""

import os
import re
import shutil
import subprocess

import pytest
from board_builds import ROOT, build_executable
from software_build import TIMEOUT, build_software, build_unchecked

from lanebox import layouts
from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.examples import AXI50


@pytest.fixture(scope="session")
def built():
    return build_software()


def run(built, board, name, *arguments):
    """One of the test programs on this board, with checks of addresses and behaviour."""
    command = [built.out / "test" / name, f"sim:{board.socket}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr + board.tail()
    return done.stdout


def test_the_library_on_the_board(start_board, built):
    """Every call; the csr.json of the build is accepted as that of this card."""
    program = build_executable("lanebox")
    with start_board("--bar2", layouts.BAR2_SIZE, program=program) as board:
        run(built, board, "library", built.csr_json)


def test_two_threads_move_every_word(start_board, built):
    """Rings of four shapes, batches, a third thread, an event and a reset, on the real gateware."""
    with start_board() as board:
        text = run(built, board, "streams", "96")
    assert text.count("96 buffers") == 5


@pytest.mark.parametrize("direction", ["c2h", "h2c"])
def test_a_stream_is_watched_without_a_register(start_board, built, direction):
    """The card's completions say it: how many buffers move has no part in the number of reads.

    Each buffer raises an interrupt, and its user sleeps for it: a card that is asked would be asked
    512 times more. The library does ask after a fifth of a second without one, which a busy machine
    may bring, and in each millisecond of the wait for the end of h2c.
    """
    reads = {}
    with start_board() as board:
        for buffers in (256, 768):
            text = run(built, board, "steady", direction, str(buffers), "1")
            reads[buffers] = int(re.search(r"reads (\d+)", text).group(1))
    print(direction, reads)
    assert reads[768] - reads[256] < 128


def test_threads_do_not_race(start_board):
    """The same under a checker of data races, which ends with another status when it finds one."""
    program = build_unchecked("SANITIZE=thread") / "test" / "streams"
    with start_board() as board:
        done = subprocess.run([program, f"sim:{board.socket}", "48"], capture_output=True,
            text=True, timeout=2 * TIMEOUT)
    assert done.returncode == 0 and "ThreadSanitizer" not in done.stderr, done.stderr


@pytest.mark.soak
def test_the_user_s_logic_calls(built):
    """Interrupts of real user logic, one for each write to its memory, beside a running DMA."""
    board = artefacts.build(DEFAULT, AXI50).board
    with BoardProcess(board, ["--bar2", str(layouts.BAR2_SIZE)]) as running:
        run(built, running, "user_events", "2", hex(layouts.AXI_BASE))


def test_a_program_written_for_litepcies_library_runs(start_board, built):
    """Its own calls, on a card that its library could not have reached; every word compared."""
    with start_board() as board:
        assert "300 buffers compared, 0 words wrong" in run(built, board, "stock_style", "300")


def test_the_scale_client_says_that_logic_is_wrong(start_board, built, tmp_path):
    """The default user slot shifts nothing: the card answers, and what it answers is wrong."""
    (tmp_path / "csr.h").write_text("#define CSR_USER_SHIFT_ADDR 4 /* the scratch register */\n")
    client = tmp_path / "client"
    subprocess.run(["gcc", "-Wall", "-Werror", f"-I{tmp_path}",
        f"-I{ROOT / 'software/user/liblitepcie'}", ROOT / "examples/scale/client.c", "-o", client,
        build_unchecked() / "liblitepcie.a", "-pthread"], check=True)
    with start_board() as board:
        done = subprocess.run([client, f"sim:{board.socket}"], capture_output=True, text=True,
            timeout=TIMEOUT)
    assert (done.returncode, done.stdout) == (1, "shift  0: 16 buffers right\n"), done.stderr
    assert "shift 1: the card answers, but its logic does not do what it should" in done.stderr
    done = subprocess.run([client, "sim:/none"], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 1 and "/none: No such file" in done.stderr


def test_a_card_is_opened_a_hundred_times(start_board, built):
    """No descriptor, mapping or byte is left behind, whatever was under way; resets between."""
    with start_board() as board:
        run(built, board, "cycles", "100")


@pytest.mark.soak
def test_a_card_is_opened_ten_thousand_times(start_board):
    """The same, as users have the library."""
    program = build_unchecked() / "test" / "cycles"
    with start_board() as board:
        command = [program, f"sim:{board.socket}", "10000"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0 and "cycles: 10000" in done.stdout, done.stdout + done.stderr


def test_another_user_is_told_whose_socket_it_is(start_board):
    """Without the right to write to it there is no card, and the sentence says what to do."""
    program = build_unchecked() / "test" / "cycles"
    other = {"user": 65534} if os.getuid() == 0 else {}
    with start_board() as board:
        os.chmod(board.socket, 0o400)
        folder = os.path.dirname(board.socket)
        os.chmod(folder, 0o711)  # where the other user finds the program, too
        command = [shutil.copy(program, folder), f"sim:{board.socket}", "1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, **other)
        os.remove(command[0])
    assert done.returncode == 1 and "be the user who started the board" in done.stderr, done.stderr


def test_a_second_program_is_told_that_the_board_has_a_client(start_board):
    """At once, in a sentence, and not by a time-out; when the first has left it gets the card."""
    program = build_unchecked() / "test" / "cycles"
    with start_board() as board:
        command = [program, f"sim:{board.socket},timeout=600", "1"]
        first = board.card()
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 1, done.stdout + done.stderr
        assert f"{board.socket}: the board has a client: one at a time" in done.stderr
        assert first.read("ctrl_scratch") == 0x12345678
        first.close()
        board._clients.remove(first)
        subprocess.run(command, check=True, timeout=TIMEOUT)
