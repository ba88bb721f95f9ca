# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of liblitepcie on the board, without a guest, by its test programs in
software/liblitepcie/test."""

import os
import re
import shutil
import subprocess

import pytest

from gateware import numbers
from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.examples import AXI50
from sim.test.board.board_builds import ROOT, build_executable
from software.test.software_build import TIMEOUT, build_software, build_unchecked


@pytest.fixture(scope="session")
def built():
    return build_software()


def run(built, board, name, *arguments):
    """Run a test program of the library, built with sanitizers, on `board`; returns its output."""
    command = [built.out / "test" / name, f"sim:{board.socket}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr + board.tail()
    return done.stdout


def test_the_library_on_the_board(start_board, built):
    """Every call of the library works on the board, and the build's csr.json is accepted for its
    card."""
    program = build_executable("lanebox")
    with start_board("--bar2", numbers.BAR2_SIZE, program=program) as board:
        run(built, board, "library", built.csr_json)


def test_two_threads_move_every_word(start_board, built):
    """Two threads move every word through DMA rings of four shapes, with batches, eventfd and
    reset."""
    with start_board() as board:
        text = run(built, board, "streams", "96")
    assert text.count("96 buffers") == 5


def test_what_hangs_in_the_user_slot_is_named(start_board, built):
    """If the user slot's loopback holds h2c up because c2h has no buffer, the library says so, and
    the stream recovers.

    Board and card count the same beats. The card's time goes on while the slot stalls.
    """
    with start_board() as board:
        text = run(built, board, "slot", "loopback")
        slot = board.stats()["slot"]
    lines = dict(line.split(": ", 1) for line in text.splitlines())
    idle = "h2c: the user slot has taken all that came (0 beats so far); nothing was sent. "
    assert lines["nothing"].startswith(idle + "c2h: the user slot has held source.valid low for ")
    assert lines["nothing"].endswith(" (0 beats so far); 16 buffers wait")
    held = re.fullmatch(
        r"h2c: the user slot has held sink.ready low for ([\d.]+) (us|ms) "
        r"\((\d+) beats so far\); 16 buffers wait\. c2h: the user slot offers data, and "
        r"source.ready has been low for [\d.]+ \w+ \((\d+) beats so far\); the card has no "
        r"buffer, the program has not given one back",
        lines["hung"],
    )
    assert held and float(held[1]) > 0, lines["hung"]
    # The c2h ring in host memory is full, and further beats of the user slot are inside the card.
    assert int(held[3]) > int(held[4]) >= 16 * 4096 // 32
    assert "sink.ready low" in lines["drain"]
    assert "has taken all that came" in lines["done"] and "the card has all" in lines["done"]
    beats = [int(word) for word in re.findall(r"[hc]2[hc] \d \d \d+ (\d+)", lines["slot"])]
    assert beats == [slot["sink"]["beats"], slot["source"]["beats"]] and beats[0] == beats[1]
    assert slot["sink"]["stalls"] > 0


@pytest.mark.parametrize("name", ["place", "table_poll"])
def test_rings_lie_where_and_news_come_as_a_program_says(start_board, built, name):
    """A test program of the library loses no word of data, with DMA rings in its own or in shared
    memory, and with interrupts or polling."""
    with start_board() as board:
        run(built, board, name)


@pytest.mark.parametrize("direction", ["c2h", "h2c"])
def test_a_stream_is_watched_without_a_register(start_board, built, direction):
    """A stream of the library reads no register of the card for each buffer that it moves.

    Each buffer raises an interrupt, for which the program sleeps. A read for each buffer would make
    512 more reads. The library reads registers only after a fifth of a second without an interrupt,
    which a busy machine may cause, and every millisecond while it waits for the end of h2c.
    """
    reads = {}
    with start_board() as board:
        for buffers in (256, 768):
            text = run(built, board, "steady", direction, str(buffers), "1")
            reads[buffers] = int(re.search(r"reads (\d+)", text).group(1))
    print(direction, reads)
    assert reads[768] - reads[256] < 128


def test_threads_do_not_race(start_board):
    """The test program `streams` has no data race under ThreadSanitizer."""
    program = build_unchecked("SANITIZE=thread") / "test" / "streams"
    with start_board() as board:
        done = subprocess.run(
            [program, f"sim:{board.socket}", "48"],
            capture_output=True,
            text=True,
            timeout=2 * TIMEOUT,
        )
    assert done.returncode == 0 and "ThreadSanitizer" not in done.stderr, done.stderr


@pytest.mark.soak
def test_the_user_s_logic_calls(built):
    """Each host write to the memory of the user logic raises one interrupt, also while DMA runs."""
    board = artefacts.build(DEFAULT, AXI50).board
    with BoardProcess(board, ["--bar2", str(numbers.BAR2_SIZE)]) as running:
        run(built, running, "user", "2", hex(numbers.AXI_BASE))


def test_a_program_written_for_litepcies_library_runs(start_board, built):
    """A program written for LitePCIe's own library runs with liblitepcie of Lanebox, and every word
    that it moves is right."""
    with start_board() as board:
        assert "300 buffers compared, 0 words wrong" in run(built, board, "stock_style", "300")


def test_the_scale_client_says_that_logic_is_wrong(start_board, built, tmp_path):
    """The client of examples/scale reports a card whose logic is not `scale`. This card has the
    default user slot, which answers, but does not shift."""
    (tmp_path / "csr.h").write_text("#define CSR_USER_SHIFT_ADDR 4 /* the scratch register */\n")
    client = tmp_path / "client"
    subprocess.run(
        [
            "gcc",
            "-Wall",
            "-Werror",
            f"-I{tmp_path}",
            f"-I{ROOT / 'software/liblitepcie'}",
            f"-I{ROOT / 'software/uapi'}",
            ROOT / "examples/scale/client.c",
            "-o",
            client,
            build_unchecked() / "liblitepcie.a",
            "-pthread",
        ],
        check=True,
    )
    with start_board() as board:
        done = subprocess.run(
            [client, f"sim:{board.socket}"], capture_output=True, text=True, timeout=TIMEOUT
        )
    assert (done.returncode, done.stdout) == (1, "shift  0: 16 buffers right\n"), done.stderr
    assert "shift 1: the card answers, but its logic does not do what it should" in done.stderr
    done = subprocess.run([client, "sim:/none"], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 1 and "/none: No such file" in done.stderr


def test_a_card_is_opened_a_hundred_times(start_board, built):
    """The library's test program opens the card, runs DMA, resets and closes the card a hundred
    times. No file descriptor, mapping or byte of memory is left over."""
    with start_board() as board:
        run(built, board, "cycles", "100")


@pytest.mark.soak
def test_a_card_is_opened_ten_thousand_times(start_board):
    """The library's test program, built without sanitizers, opens the card, runs DMA, resets and
    closes the card ten thousand times, and checks that nothing is left over."""
    program = build_unchecked() / "test" / "cycles"
    with start_board() as board:
        command = [program, f"sim:{board.socket}", "10000"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0 and "cycles: 10000" in done.stdout, done.stdout + done.stderr


def test_another_user_is_told_whose_socket_it_is(start_board):
    """A user without the right to write to the board's socket gets an error that says whose socket
    it is."""
    program = build_unchecked() / "test" / "cycles"
    other = {"user": 65534} if os.getuid() == 0 else {}
    with start_board() as board:
        os.chmod(board.socket, 0o400)
        folder = os.path.dirname(board.socket)
        # The other user must be able to reach the copy of the program in this folder.
        os.chmod(folder, 0o711)
        command = [shutil.copy(program, folder), f"sim:{board.socket}", "1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, **other)
        os.remove(command[0])
    assert done.returncode == 1 and "be the user who started the board" in done.stderr, done.stderr


def test_a_second_program_is_told_that_the_board_has_a_client(start_board):
    """A second program fails at once, with a sentence that the board has a client. After the first
    program has ended, the second one can open the card."""
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
