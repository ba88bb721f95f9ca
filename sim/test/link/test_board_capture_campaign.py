# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Recordings one after the other on a whole card, with a host that pauses, is slow and raises its
limit when it likes.

CaptureCampaign.scala does the same with the capture block alone, in many more steps. Here the
endpoint, the link and the rules of the hard block are between the block and the host's memory, of
which only ring and status line are mapped.
"""

import random

from sim.test.board.board_client import wait_until
from sim.test.card.test_board_capture import (
    IDLE,
    LOSSLESS,
    MBUF,
    Generated,
    Recorder,
    check,
    packets,
    start_capture,
)
from tools.testing.seeds import SHIFT

__all__ = ["start_capture"]

RECORDINGS = 8
SEED = SHIFT + 1


class Host:
    """The host's program, of which look() is one step: it takes the bytes that the card has
    written, raises the card's limit or not, and may let the host take no write for a while."""

    def __init__(self, board, recorder, random, lossless):
        self.board, self.recorder, self.random = board, recorder, random
        self.lossless = lossless

    def look(self):
        recorder = self.recorder
        recorder.take()
        kept = len(recorder.taken) // MBUF * MBUF
        if self.lossless or self.random.random() < 0.3:
            recorder.allow(kept + recorder.size)
        elif self.random.random() < 0.5:
            # The card must ignore a limit below the last one.
            recorder.allow(self.random.randrange(kept + 1))
        # A read of a register waits for the end of the pause, and is given up after 50 us.
        if self.random.random() < 0.3:
            self.board.command(f"pause {self.random.randrange(1, 20_000)}")


def record(board, card, choose, tmp_path, lossless):
    """Make one recording by the capture block with random settings, and check it. Returns (the
    frames that the generator made, the numbers of those that were recorded)."""
    size = choose.choice((64, 69, 300, 1518))
    frames = Generated(
        size, choose.choice((0, 1100, 3000)), count=choose.randrange(200_000, 600_000) // size
    )
    board.command(f"set stall {choose.choice((0, 20, 60))}")
    recorder = Recorder(card, segments=choose.choice((1, 2, 4)))
    host = Host(board, recorder, choose, lossless)
    recorder.allow(recorder.size)
    recorder.start(frames, LOSSLESS if lossless else 0)

    def ended(condition):
        host.look()
        return condition()

    wait_until(lambda: ended(lambda: recorder.made(frames.count)), "all frames")
    recorder.stop(LOSSLESS if lossless else 0)
    wait_until(lambda: ended(lambda: recorder.flags(IDLE)), "the end of the capture")
    recorder.end()
    delivered = check(recorder, frames, packets(recorder, tmp_path))
    # The next recording has memory of its own at these addresses.
    for memory in (recorder.status, *recorder.segments):
        card.client.unmap(memory.address, memory.size)
    return frames, delivered


def test_each_frame_has_one_fate_in_recordings_one_after_the_other(start_capture, tmp_path):
    """In recordings one after the other, with random settings, pauses and limits, each frame is
    delivered byte for byte or counted as lost. The card writes nothing outside the ring, breaks no
    rule, and with `lossless` loses nothing."""
    print(f"seed {SEED}")
    choose = random.Random(SEED)
    lost = 0
    with start_capture("--seed", SEED) as board:
        card = board.card()
        for number in range(RECORDINGS):
            lossless = number % 4 == 0
            frames, delivered = record(board, card, choose, tmp_path, lossless)
            lost += frames.count - len(delivered)
            assert not lossless or len(delivered) == frames.count
        stats = board.stats()
        assert stats["unmapped"] == 0 and not sum(stats["violations"].values())
    assert lost > 100, "the campaign has met no loss"
