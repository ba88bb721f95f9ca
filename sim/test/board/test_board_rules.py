# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the board does with --rules fatal, warn and off when gateware breaks a rule of the hard
block's interface.

The gateware has stock LitePCIe's endpoint. The tests provoke only breaches that a client can make
this endpoint commit.
"""

import contextlib
import json

import pytest

from sim.clients.vfio import BAR0
from sim.test.board.board_builds import build_executable, register_map
from sim.test.board.board_client import (
    C2H_GENERATE,
    CAP_EXPRESS,
    COMMAND,
    DEVICE_CONTROL,
    H2C_CHECK,
    HIGH_MEMORY,
    MEMORY_SPACE,
    wait_until,
)
from sim.test.board.board_process import TOLERATED, tolerated


def bus_master_off(card):
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", [(HIGH_MEMORY, 4096)])
    card.config_write(COMMAND, MEMORY_SPACE, 2)
    card.start("c2h")


def write_across_4k(card):
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", [(HIGH_MEMORY + 4096 - 128, 256)])
    card.start("c2h")


def read_across_4k(card):
    card.write("pattern_control", H2C_CHECK)
    card.program("h2c", [(HIGH_MEMORY + 4096 - 128, 256)])
    card.start("h2c")


def eight_byte_read(card):
    card.client.send_read(BAR0, 0x10000, 8)


def one_byte_read(card):
    card.client.send_read(BAR0, 0x10001, 1)


def interrupt_while_disabled(card):
    card.set_msi(False)
    card.enable_interrupts("c2h")
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", [(HIGH_MEMORY, 4096)])
    card.start("c2h")


def odd_length(card):
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", [(HIGH_MEMORY, 72)])
    card.start("c2h")


def smaller_mps_during_dma(card):
    """Lower MPS during DMA. Writes that wait behind a stalled RQ keep the size that they were made
    with, and are then larger than MPS."""
    card.enumerate(mps=512)
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", [(HIGH_MEMORY, 1 << 16)] * 64)
    card.start("c2h")
    card.read("ctrl_scratch")
    control = card.capabilities()[CAP_EXPRESS] + DEVICE_CONTROL
    card.config_write(control, 0x2000, 2)  # Device Control: MRRS 512 bytes, MPS 128 bytes


BREACHES = {
    bus_master_off: ("bus-master-off", "MWr 0x100000000 64 dw"),
    write_across_4k: ("crosses-4k", "MWr 0x100000f80 64 dw"),
    read_across_4k: ("crosses-4k", "MRd 0x100000f80 64 dw"),
    eight_byte_read: ("completion-byte-count", "CplD low 0x000 1 dw bc 4"),
    one_byte_read: ("completion-byte-count", "CplD low 0x000 1 dw bc 4"),
    interrupt_while_disabled: ("msi-disabled", "MSI MWr"),
    odd_length: ("tkeep-mismatch", "MWr 0x100000000 18 dw"),
    smaller_mps_during_dma: ("payload-above-mps", "MWr 0x10000"),
}
each_breach = pytest.mark.parametrize("breach", BREACHES, ids=lambda breach: breach.__name__)


def provoke(board, breach):
    """Enumerate a new card and run the function `breach` on it; returns the card. With --rules
    fatal the board may end before `breach` returns."""
    card = board.card()
    card.memory(HIGH_MEMORY, 1 << 16)
    with contextlib.suppress(ConnectionError):
        breach(card)
    return card


@each_breach
def test_fatal_ends_the_board_and_names_rule_and_tlp(start_stock, breach, tmp_path):
    """With --rules fatal, the default, a broken rule ends the board with status 1. The last line of
    the board's output names the rule, the TLP and the device time."""
    rule, tlp = BREACHES[breach]
    stats = tmp_path / "stats.json"
    with start_stock("--stall", 50, "--stats", stats, status=1) as board:
        provoke(board, breach)
        board.wait()
    last = board.output.splitlines()[-1]
    assert last.startswith(f"board: rule {rule} broken by {tlp}"), board.output
    assert " ns: " in last
    assert json.loads(stats.read_text())["violations"] == {rule: 1}


@each_breach
def test_warn_counts_and_goes_on(start_stock, breach):
    """With --rules warn a broken rule is counted and reported on stderr, and the board goes on: the
    card's registers still answer."""
    rule, tlp = BREACHES[breach]
    with start_stock("--stall", 50, "--rules", "warn", violations=[rule]) as board:
        card = provoke(board, breach)
        wait_until(lambda: board.stats()["violations"], f"a breach of {rule}")
        assert set(board.stats()["violations"]) - TOLERATED == {rule}
        card.stop()
        assert card.read("ctrl_scratch") == 0x12345678
    assert f"rule {rule} broken by {tlp}" in board.output


@each_breach
def test_off_lets_it_pass(start_stock, breach):
    """With --rules off the board neither counts nor reports a broken rule, and goes on."""
    with start_stock("--stall", 50, "--rules", "off") as board:
        card = provoke(board, breach)
        card.read("ctrl_scratch")
        card.stop()
        card.read("ctrl_scratch")
        assert board.stats()["violations"] == {}
    assert board.output == ""


def test_many_breaches_are_counted_but_not_all_told(start_stock):
    """With --rules warn every breach of a rule is counted, but the same rule is reported only a few
    times."""
    with start_stock("--rules", "warn", violations=["completion-byte-count"]) as board:
        card = board.card()
        for _ in range(50):
            card.client.read(BAR0, 0x10000, 8)
        assert board.stats()["violations"] == {"completion-byte-count": 50}
    assert len(board.output.splitlines()) < 10


def reads_held_off(board):
    card = board.card()
    card.memory(HIGH_MEMORY, 1 << 16)
    card.write("pattern_control", H2C_CHECK)
    card.program("h2c", [(HIGH_MEMORY, 1 << 16)])
    card.start("h2c")
    # The card's checker finds wrong h2c beats, because host memory does not hold the test pattern.
    assert card.h2c_check((1 << 16) // 32) > 0


def test_only_litepcies_endpoint_may_hold_rc_off(boards_of):
    """A card with LitePCIe's endpoint may hold RC off in any test. A card whose register map has
    the Lanebox endpoint's register may not: the test fails."""
    program, csr = build_executable("litepcie"), register_map("litepcie")
    with boards_of(program, csr)() as board:
        reads_held_off(board)
        assert set(board.stats()["violations"]) == TOLERATED
    own = {**csr["csr_registers"], "pcie_endpoint_control": {}}
    for violations in ((), None):
        with pytest.raises(AssertionError, match="rc-backpressure"):
            start = boards_of(program, {**csr, "csr_registers": own})
            with start(violations=violations) as board:
                reads_held_off(board)
    assert tolerated(register_map()) == set()


def test_stopping_dma_and_then_bus_master_breaks_nothing(start_stock):
    """A driver that unloads stops DMA by a posted write and then clears bus master. This breaks no
    rule, since the configuration write does not overtake the posted write."""
    for _ in range(10):
        with start_stock() as board:
            card = board.card()
            card.memory(HIGH_MEMORY, 1 << 20)
            card.write("pattern_control", C2H_GENERATE)
            card.program("c2h", [(HIGH_MEMORY, 1 << 20)])
            card.start("c2h")
            wait_until(lambda: board.stats()["rq"]["tlps"] > 50, "some writes")  # noqa: B023
            card.write("pcie_dma0_writer_enable", 0)
            card.config_write(COMMAND, MEMORY_SPACE, 2)
            card.read("ctrl_scratch")
