# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that each fault of --fault or of the command `fault` is carried out once, at the
opportunity asked for.

Each test looks for the fault's effect from outside: in host memory, in the log of TLPs, in the
counters.
"""

import time

import pytest

from gateware import numbers
from sim.board.process import BoardFailed
from sim.test.board.board_client import (
    C2H_GENERATE,
    H2C_CHECK,
    HIGH_MEMORY,
    pattern,
    slices,
    wait_until,
)

TOTAL = 32 * 1024
MPS = 256
CYCLE_NS = numbers.TICK_NS
# Upper limit, in cycles of 4 ns, for a reset of the card while no read is outstanding
RESET_CYCLES = 1000
PLANTINGS = ["option", "command"]


def planted(start_board, planting, fault, **options):
    """Start a board for a test of `fault`. Returns (board, plant).

    With "option" the board gets the fault on its command line and plant(board) does nothing. With
    "command" plant(board) sends it as a command to the running board.
    """
    if planting == "option":
        return start_board("--fault", fault, **options), lambda board: None
    return start_board(**options), lambda board: board.command(f"fault {fault}")


def start_c2h(card, before=b"\0"):
    memory = card.memory(HIGH_MEMORY, TOTAL)
    memory.data[:] = before * TOTAL
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", slices(HIGH_MEMORY, TOTAL, 4096), "all")
    card.start("c2h")
    return memory


def start_h2c(card, memory=None):
    memory = memory or card.memory(HIGH_MEMORY, TOTAL)
    memory.data[:] = pattern(TOTAL)
    card.write("pattern_control", H2C_CHECK)
    card.program("h2c", slices(HIGH_MEMORY, TOTAL, 4096))
    card.start("h2c")
    return memory


@pytest.mark.parametrize("planting", PLANTINGS)
@pytest.mark.parametrize("n", [1, 7])
def test_flip_c2h_flips_one_bit_of_the_nth_write(start_board, planting, n):
    """flip-c2h:N flips one bit in host memory, in the N-th memory write; every other byte is
    right."""
    board, plant = planted(start_board, planting, f"flip-c2h:{n}")
    with board:
        card = board.card(mps=MPS)
        plant(board)
        memory = start_c2h(card)
        expected = bytearray(pattern(TOTAL))
        expected[(n - 1) * MPS] ^= 1 << 5
        card.wait_data(memory, bytes(expected))
        assert board.stats()["faults"] == 1


@pytest.mark.parametrize("n", [1, 7])
def test_c2h_be_leaves_bytes_of_the_nth_write_unwritten(start_board, n):
    """c2h-be:N clears three byte enables in the first dword of the card's N-th memory write. Host
    memory keeps its old content at these three bytes, and only there."""
    with start_board("--fault", f"c2h-be:{n}") as board:
        card = board.card(mps=MPS)
        at = (n - 1) * MPS
        expected = bytearray(pattern(TOTAL))
        expected[at : at + 3] = b"\xee" * 3
        card.wait_data(start_c2h(card, b"\xee"), bytes(expected))
        assert board.stats()["faults"] == 1


@pytest.mark.parametrize("planting", PLANTINGS)
@pytest.mark.parametrize("n", [1, 7])
def test_flip_h2c_spoils_one_beat_of_the_nth_completion(start_board, planting, n):
    """flip-h2c:N spoils the last beat of the N-th completion. The data checker in the gateware
    finds exactly this beat wrong."""
    board, plant = planted(start_board, planting, f"flip-h2c:{n}")
    with board:
        card = board.card(mps=MPS)
        plant(board)
        start_h2c(card)
        assert card.h2c_check(TOTAL // 32) == 1
        assert card.read("pattern_h2c_first_error") == n * MPS // 32 - 1
        assert board.stats()["faults"] == 1


@pytest.mark.parametrize("n", [1, 3])
def test_lose_msi_loses_the_nth(start_board, n):
    """With lose-msi:N and eight MSIs sent by the card, the host gets seven; the log of TLPs has
    eight."""
    with start_board("--fault", f"lose-msi:{n}", log=True) as board:
        card = board.card()
        card.enable_interrupts("c2h")
        memory = start_c2h(card)
        card.wait_data(memory, pattern(TOTAL))
        wait_until(lambda: board.stats()["msi"] == 7, "seven interrupts")
        time.sleep(0.02)
        stats = board.stats()
        assert (stats["msi"], stats["msi_lost"], stats["faults"]) == (7, 0, 1)
        assert card.interrupts() == 7
    assert len(board.tlps().on("RQ", "MSI")) == 8


def test_wrong_be_reaches_the_card_once(start_board):
    """wrong-be:3 gives the third BAR write of the host another first byte enable, and no other
    write."""
    with start_board("--fault", "wrong-be:3", log=True) as board:
        card = board.card()
        for i in range(5):
            card.mmio_write(0x10000 + 4 * i, i)
        card.read("ctrl_scratch")
        assert board.stats()["faults"] == 1
    enables = [t.enables for t in board.tlps().on("CQ", "MWr")]
    assert enables == [(0xF, 0), (0xF, 0), (0x7, 0), (0xF, 0), (0xF, 0)]


@pytest.mark.parametrize("fault", ["ur", "drop-completion"])
def test_a_failed_read_is_one_read(start_board, fault):
    """With ur:2 the card's second read ends in Unsupported Request, with drop-completion:2 it gets
    no answer. All other reads are answered in full."""
    with start_board("--fault", f"{fault}:2", "--completion-size", 256, log=True) as board:
        card = board.card(mps=MPS)
        start_h2c(card)
        wait_until(lambda: board.stats()["faults"] == 1, "the fault")
        time.sleep(0.05)
    log = board.tlps()
    reads, answers = log.on("RQ", "MRd"), log.on("RC")
    errors = [t for t in answers if t.status]
    if fault == "ur":
        assert [(t.kind, t.tag, t.status) for t in errors] == [("Cpl", reads[1].tag, 1)]
    else:
        assert not errors and reads[1].tag not in [t.tag for t in answers]
    good = sum(4 * t.dwords for t in answers)
    assert good == 512 * (len(reads) - 1)


@pytest.mark.parametrize("fault", ["ur", "drop-completion"])
def test_a_reset_brings_a_wedged_card_back(start_board, fault):
    """A card with a failed or unanswered read moves data again after a device reset and a new
    enumeration. The board process is not restarted."""
    with start_board("--fault", fault) as board:
        card = board.card()
        card.give_up_reads()
        memory = start_h2c(card)
        wait_until(lambda: board.stats()["faults"] == 1, "the fault")
        card.client.reset()
        card.enumerate()
        start_h2c(card, memory)
        assert card.h2c_check(TOTAL // 32) == 0


def test_a_reset_waits_until_a_lost_read_is_given_up(start_board):
    """A device reset waits until the completion timeout of an unanswered read has passed, and at
    most a quarter of that timeout longer."""
    # Completion timeout in cycles of 4 ns. It is long compared with the time in which the client
    # sends its reset.
    timeout = 400_000
    with start_board("--fault", "drop-completion", log=True) as board:
        card = board.card()
        card.give_up_reads(timeout)
        start_h2c(card)
        wait_until(lambda: board.stats()["faults"] == 1, "the fault")
        before = board.stats()["cycles"]
        card.client.reset()
        assert board.stats()["cycles"] - before <= 5 * timeout // 4 + RESET_CYCLES
        card.enumerate()
        card.read("ctrl_scratch")
    log = board.tlps()
    lost, after = log.on("RQ", "MRd")[0], log.on("CQ", "MRd")[-1]
    assert after.ns - lost.ns >= timeout * CYCLE_NS


def test_a_fault_strikes_once(start_board):
    """A fault that is planted on the board strikes once. The c2h transfer after it is right in
    every byte."""
    with start_board("--fault", "flip-c2h:1") as board:
        card = board.card(mps=MPS)
        card.wait_data(start_c2h(card), b"\x20" + pattern(TOTAL)[1:])
        card.stop()
        assert board.stats()["faults"] == 1
        card.client.unmap(HIGH_MEMORY, TOTAL)
        card.wait_data(start_c2h(card), pattern(TOTAL))
        assert board.stats()["faults"] == 1


@pytest.mark.parametrize(
    "spec,rule",
    [
        ("nonsense", "'nonsense' is unknown; there are flip-c2h, "),
        ("ur:0", "'ur:0': the count after ':' must be 1 or more"),
        ("ur:x", "'ur:x': the count"),
        ("ur:1x", "'ur:1x': the count"),
        ("ur:-1", "'ur:-1': the count"),
        ("", "'' is unknown"),
    ],
)
def test_an_unknown_fault_is_refused_by_command(start_board, spec, rule):
    """The command `fault` with a bad fault is refused: the error has the fault's name and the rule
    that it breaks. The board runs on, and no fault is armed."""
    with start_board() as board:
        with pytest.raises(BoardFailed) as refusal:
            board.command(f"fault {spec}")
        assert rule in str(refusal.value)
        assert board.stats()["faults"] == 0
