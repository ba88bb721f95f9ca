# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A capture block that says that it rests writes no more, so that software may free its ring."""

import random

from sim.test.board.board_builds import build_executable, register_map
from sim.test.board.board_client import C2H_GENERATE, wait_until
from sim.test.card.stamped import TICK_NS
from sim.test.card.test_board_capture import IDLE, SEGMENT, Generated, Recorder
from sim.test.dma.resting import PAUSE_NS, assert_rested
from sim.trace.tlp import load
from tools.testing.seeds import each_seed

AHEAD = 20_000  # cycles until the pause begins, which are enough to plan it
# Cycles after the pause's begin until a frame is made, and from there until the capture is stopped.
EARLIEST, LATEST, FRAME = 2000, 4000, 1000
SETTLED = 2000  # cycles after which a stopped capture has handed its writes over to the endpoint
# c2h descriptors of 512 bytes. They and the capture's MBUF fill the buffers of host and hard block,
# and what is left of the MBUF, with the status line, fits into the endpoint's own store.
FILLING, BUFFER, SINK = 5, 512, 0x2_0000_0000


@each_seed(2)
def test_the_capture_rests_when_its_last_write_has_left(boards_of, tmp_path, seed):
    """A stopped capture does not say that it rests while its writes wait for the host. When it has
    said so, it writes no more."""
    rng, path = random.Random(seed), tmp_path / "trace.pcapng"
    print(f"seed {seed}")
    frames = Generated(size=rng.randrange(60, 200), period=256 * 1000, count=1)
    start = boards_of(build_executable(capture=True), register_map(capture=True))
    with start("--seed", seed, "--tlp-log", path) as board:
        card = board.card()
        recorder = Recorder(card, segments=1)
        card.write64("capture_limit", SEGMENT)
        card.memory(SINK, FILLING * BUFFER)
        card.program("c2h", [(SINK + n * BUFFER, BUFFER) for n in range(FILLING)], "none")
        card.write("pattern_control", C2H_GENERATE)
        recorder.start(frames)
        wait_until(lambda: recorder.made(1), "a frame")
        card.write("capture_generator_control", 0)
        board.let_pass(5000)

        begin = board.stats()["cycles"] + AHEAD
        frame = begin + rng.randrange(EARLIEST, LATEST)
        stop = frame + FRAME
        for at, line in (
            (begin, f"pause {PAUSE_NS}"),
            (begin, f"write {card.address('pcie_dma0_writer_enable'):#x} 1"),
            (frame, f"write {card.address('capture_generator_control'):#x} 1"),
            (stop, f"write {card.address('capture_control'):#x} 0"),
            (stop + SETTLED, f"peer read bar0 {card.address('capture_status'):#x} 4 1 1"),
        ):
            board.command(f"at {at} {line}")
        wait_until(lambda: board.stats()["cycles"] > stop + SETTLED, "the capture stopped")
        wait_until(lambda: recorder.flags(IDLE), "the capture at rest")
        board.let_pass(5000)
    resumes = begin * TICK_NS + PAUSE_NS
    assert_rested(load(path), "capture", range(SINK), IDLE, resumes)
