# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A DMA direction that says that it rests writes no more, so that software may free its memory.

The tests stop a direction while the host takes no posted writes. The hard block then holds the
direction's writes back, but it sends the completion of a register read before them. So until the
host takes writes again, a direction whose write waits must not say that it rests.
"""

import random

import pytest

from gateware.dma.notices import CONTROL
from gateware.numbers import DMA_ENABLE_IDLE
from sim.test.board.board_client import C2H_GENERATE, HIGH_MEMORY, PREFIX, assert_same, wait_until
from sim.test.card.stamped import TICK_NS
from sim.test.dma.resting import PAUSE_NS, assert_rested
from sim.trace.tlp import load
from tools.testing.seeds import each_seed

# Cycles after the pause's begin until the direction is stopped. The host's buffer is full sooner.
EARLIEST, LATEST = 4000, 7000
# Cycles until the pause begins, which are enough to plan it, and cycles after which the direction's
# register has the stop.
AHEAD, SETTLED = 20_000, 500
# ns for which a read of host memory takes. The h2c data then comes when c2h has filled the host's
# buffer, so the status line of h2c waits in the card.
READ_NS = 6000
AFTER = 5000  # cycles in which writes that still wait in the card would leave it
BUFFER = 512
LINES = {"c2h": HIGH_MEMORY + 0x20000, "h2c": HIGH_MEMORY + 0x21000}
SOURCE, TOTAL = HIGH_MEMORY + 0x22000, 0x23000
# The addresses to which each direction writes: c2h its data and its status line, h2c its line only.
MEMORY = {"c2h": range(HIGH_MEMORY, LINES["h2c"]), "h2c": range(LINES["h2c"], SOURCE)}
# Numbers of c2h descriptors that fill the buffers of host and hard block. The writes that find no
# room there fit into the endpoint's own store, so c2h has handed over all of its writes when it is
# stopped.
FILLING = (36, 37)
# The directions to stop, each with its choice of numbers of c2h descriptors. With the large number
# c2h is in the middle of a write when it is stopped.
RUNS = {"c2h": ("c2h", FILLING), "c2h-begun": ("c2h", (200,)), "h2c": ("h2c", FILLING)}
NOTICES = {"c2h": [0, CONTROL["c2h_status"]], "h2c": [CONTROL["h2c_status"]]}


def set_up(card, way, counts, rng):
    """Prepare the card to run c2h, and for a test of h2c one h2c descriptor, too."""
    card.write64("pcie_notices0_writer_status_base", LINES["c2h"])
    card.write64("pcie_notices0_reader_status_base", LINES["h2c"])
    card.write("pcie_notices0_control", rng.choice(NOTICES[way]))
    buffers = [(HIGH_MEMORY + n * BUFFER, BUFFER) for n in range(rng.choice(counts))]
    card.program("c2h", buffers, "none")
    card.program("h2c", [(SOURCE, 64)], "none")
    card.write("pattern_control", C2H_GENERATE)
    card.read("pattern_control")


def run_and_stop(board, card, way, rng):
    """Run the DMA direction `way` (h2c or c2h), and stop it while the host takes no posted writes.
    Return the ns at which the host takes writes again.

    The board does all this at fixed cycles. A peer of the card then reads the register that says
    whether the direction rests, so that one read at least is answered in the pause.
    """
    enable = {name: card.address(f"{prefix}_enable") for name, prefix in PREFIX.items()}
    begin = board.stats()["cycles"] + AHEAD
    stop = begin + rng.randrange(EARLIEST, LATEST)
    board.command(f"at {begin} pause {PAUSE_NS}")
    for name in ("c2h",) if way == "c2h" else ("h2c", "c2h"):
        board.command(f"at {begin} write {enable[name]:#x} 1")
    board.command(f"at {stop} write {enable[way]:#x} 0")
    board.command(f"at {stop + SETTLED} peer read bar0 {enable[way]:#x} 4 1 1")
    wait_until(lambda: board.stats()["cycles"] > stop + SETTLED, f"{way} stopped")

    def rests():
        value = card.mmio_read(enable[way])
        assert value >> 31 == 0, f"a read of {way}'s enable register failed: {value:#x}"
        return value & DMA_ENABLE_IDLE

    wait_until(rests, f"{way} at rest")
    return begin * TICK_NS + PAUSE_NS


@pytest.mark.parametrize(("way", "counts"), RUNS.values(), ids=RUNS)
@each_seed(2)
def test_a_direction_rests_when_its_last_write_has_left(start_board, tmp_path, way, counts, seed):
    """A stopped direction does not say that it rests while its writes wait for the host. When it
    has said so, it writes no more."""
    rng, path = random.Random(seed), tmp_path / "trace.pcapng"
    print(f"seed {seed}")
    options = "--seed", seed, "--read-latency", READ_NS, "--tlp-log", path
    with start_board(*options) as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, TOTAL)
        set_up(card, way, counts, rng)
        resumes = run_and_stop(board, card, way, rng)
        before = bytes(memory.data)
        board.let_pass(AFTER)
        # While h2c rests, c2h goes on.
        if way == "c2h":
            assert_same(memory.data[:], before)
    assert_rested(load(path), way, MEMORY[way], DMA_ENABLE_IDLE, resumes)
