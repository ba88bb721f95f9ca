# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of fault scripts (--faults): when each line strikes, that a seed repeats a run, what is
refused."""

import pytest

from gateware.numbers import MEMORY_BASES
from sim.test.board.board_client import C2H_GENERATE, H2C_CHECK, HIGH_MEMORY, pattern, slices
from sim.test.board.board_process import run_board

TOTAL = 32 * 1024
MPS = 256


def script(tmp_path, text):
    path = tmp_path / "faults"
    path.write_text(text)
    return path


def wrong_writes(start_board, path, *options):
    """Run c2h with the fault script `path`. Returns the indices of the writes with a wrong byte.

    Every fault must have spoiled one write, and no data may be missing.
    """
    with start_board("--faults", path, *options) as board:
        card = board.card(mps=MPS)
        memory = card.memory(HIGH_MEMORY, TOTAL)
        memory.data[:] = b"\xee" * TOTAL
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", slices(HIGH_MEMORY, TOTAL, 4096))
        card.start("c2h")
        expected = pattern(TOTAL)
        while memory.data[-4:] != expected[-4:]:
            card.read("ctrl_scratch")
        wrong = {i // MPS for i in range(TOTAL) if memory.data[i] != expected[i]}
        assert board.stats()["faults"] == len(wrong)
        return sorted(wrong)


def test_a_line_strikes_after_so_many_tlps(start_board, tmp_path):
    """A line `tlp N FAULT` arms the fault once the card has sent N TLPs. The fault strikes at its
    next opportunity. A count M behind the fault makes it strike at the M-th opportunity from then
    on.
    """
    text = "# two of them\n\ntlp 20 flip-c2h\ntlp 60 flip-c2h 3   # the third from there\n"
    first, second = wrong_writes(start_board, script(tmp_path, text))
    assert 0 <= first <= 20 and 40 <= second <= 62 and second - first > 30


def test_a_line_strikes_at_a_time(start_board, tmp_path):
    """A line `at NS FAULT` of a file with faults arms the fault at the device time NS, in ns."""
    with start_board("--faults", script(tmp_path, "at 20000 wrong-be\n"), log=True) as board:
        card = board.card()
        for i in range(60):
            card.mmio_write(MEMORY_BASES[0] + 4 * i, i)
            card.read("ctrl_scratch")
        assert board.stats()["faults"] == 1
    writes = board.tlps().on("CQ", "MWr")
    [struck] = [t for t in writes if t.enables != (0xF, 0)]
    before = [t for t in writes if t.ns < 20000]
    # The first write after that time may have left the host before the fault was armed.
    assert before
    assert struck is writes[len(before)] or struck.ns - 20000 < 3000


def test_random_faults_repeat_with_their_seed(start_board, tmp_path):
    """A line `random FAULT RATE` strikes at random places. The same --seed gives the same places,
    another seed gives others."""
    path = script(tmp_path, "random flip-c2h 0.1\n")
    runs = [wrong_writes(start_board, path, "--seed", seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert 3 <= len(runs[0]) <= 30


@pytest.mark.parametrize(
    "text,rule",
    [
        ("ur\n", "line 1: must be `at NS FAULT [ARGUMENT]`"),
        ("\n# x\nat 5\n", "line 3: must be"),
        ("at soon ur\n", "line 1: 'soon' must be a number"),
        ("tlp 5 rust\n", "line 1: fault 'rust' is unknown; there are flip-c2h, "),
        ("tlp 5 ur 0\n", "line 1: fault 'ur:0': the count after ':' must be 1 or more"),
        ("random ur 2\n", "line 1: fault 'ur': its rate must be from 0 to 1"),
        ("random ur often\n", "line 1: 'often' must be a rate"),
        ("random hot-reset 0.1\n", "line 1: fault 'hot-reset' has no opportunities"),
        ("at 5 link-down\n", "line 1: fault 'link-down': needs a number"),
        ("at 5 remove 3\n", "line 1: fault 'remove:3': takes no argument"),
        ("at 5 devctl 65536\n", "needs a number up to 65535"),
    ],
)
def test_a_bad_script_is_named_with_line_and_rule(executable, tmp_path, text, rule):
    """A board with a bad fault script does not start: status 2, and the error has file, line and
    rule."""
    path = script(tmp_path, text)
    status, _, error = run_board(executable, "--socket", tmp_path / "s", "--faults", path)
    assert status == 2 and str(path) in error and rule in error


def test_a_missing_script_is_named(executable, tmp_path):
    """A board whose fault script does not exist does not start: status 2, and the error has the
    path."""
    status, _, error = run_board(executable, "--socket", tmp_path / "s", "--faults", "/nowhere")
    assert status == 2 and "cannot read the fault script /nowhere" in error


def test_lost_interrupts_at_random(start_board, tmp_path):
    """With half of the MSIs lost, the MSIs that arrive and those lost add up to all that the card
    sent, and all data arrives."""
    path = script(tmp_path, "random lose-msi 0.5\n")
    with start_board("--faults", path, log=True) as board:
        card = board.card()
        card.enable_interrupts("c2h")
        memory = card.memory(HIGH_MEMORY, TOTAL)
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", slices(HIGH_MEMORY, TOTAL, 1024), "all")
        card.start("c2h")
        card.wait_data(memory, pattern(TOTAL))
        card.read("ctrl_scratch")
        stats = board.stats()
    sent = len(board.tlps().on("RQ", "MSI"))
    assert sent == TOTAL // 1024 == stats["msi"] + stats["faults"] and 0 < stats["faults"] < sent


def test_the_pattern_checker_counts_random_flips(start_board, tmp_path):
    """With random flips in h2c data, each completion with a flipped bit is one wrong beat at the
    card's data checker."""
    with start_board("--faults", script(tmp_path, "random flip-h2c 0.2\n")) as board:
        card = board.card(mps=MPS)
        card.memory(HIGH_MEMORY, TOTAL).data[:] = pattern(TOTAL)
        card.write("pattern_control", H2C_CHECK)
        card.program("h2c", slices(HIGH_MEMORY, TOTAL, 4096))
        card.start("h2c")
        wrong = card.h2c_check(TOTAL // 32)
        assert wrong == board.stats()["faults"] > 0
