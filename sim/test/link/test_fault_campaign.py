# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Faults of every kind in great numbers: nothing hangs, no byte is wrong, each is counted once.

Host memory goes through the card and back. A failed read comes back as zeros, over its full length;
host memory has no zeros. All other data must come back unchanged. The endpoint must have counted
what the model has made. The hard block's own time-out is off, so that the endpoint ends lost reads,
after 20 us.
"""

import random
import time

import pytest
from board_client import HIGH_MEMORY
from seeds import each_seed

READ = 128  # bytes of a read: MRRS, RCB and completion size are the same
PIECE = 8192
TOTAL = 1 << 20  # bytes in a round; an eighth of it where reads wait for the timeout
SECONDS = 60  # of wall time for one round, which takes a fraction of a second

# For each fault: its chance at each read, and the endpoint's counter for it.
LOST = {"drop-completion", "malformed-completion"}  # reads that get no answer
FAILURES = {
    "ur": (0.3, "unsupported"),
    "ca": (0.3, "aborted"),
    "poison": (0.3, "poisoned"),
    "byte-count": (0.3, "malformed"),
    "attributes": (0.3, "malformed"),
    "lower-address": (0.3, "malformed"),
    "drop-completion": (0.9, "timeouts"),
    "malformed-completion": (0.9, "timeouts"),
}
# Beside each of them: completions that no read waits for, and TLPs that the link replays.
STRAYS = {"unexpected": 0.3, "duplicate": 0.3, "replay-up": 0.01, "replay-down": 0.01}
COUNTERS = [*{counter for _, counter in FAILURES.values()}, "cut", "unexpected", "late"]


class Round:
    """A board with random faults, its card, and a buffer at either end of the loopback."""

    def __init__(self, board, rng, total):
        self.board, self.total = board, total
        self.card = card = board.card(mps=READ, mrrs=READ)
        card.give_up_reads()
        self.source = card.memory(HIGH_MEMORY, total)
        self.sink = card.memory(HIGH_MEMORY + 2 * TOTAL, total)
        # No byte is zero, and no two reads have the same data.
        data = bytearray(rng.randbytes(total).replace(b"\0", b"\1"))
        for at in range(0, total, READ):
            number = at // READ
            data[at : at + 2] = bytes([0x80 | number & 0x7F, 0x80 | number >> 7])
        self.source.data[:] = bytes(data)

    def run(self):
        """Send all of the source through the card; returns how many reads came back as zeros."""
        card, sink, total = self.card, self.sink, self.total
        sink.data[:] = b"\xff" * total
        pieces = [(at, PIECE) for at in range(0, total, PIECE)]
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", [(self.source.address + at, n) for at, n in pieces], "none")
        card.program("c2h", [(sink.address + at, n) for at, n in pieces], "none")
        before = self.board.stats()["rq"]["payload_bytes"]
        card.start("c2h", "h2c")
        self.wait(before + total)
        card.read("device_time_low")  # the answer comes behind all writes
        card.stop()
        return self.compare()

    def wait(self, written):
        """Wait until `written` bytes passed RQ. Asking more often would slow the board down."""
        deadline = time.monotonic() + SECONDS
        while self.board.stats()["rq"]["payload_bytes"] < written:
            assert time.monotonic() < deadline, f"hung: no end within {SECONDS} s"
            time.sleep(0.02)

    def compare(self):
        source, sink, failed = self.source.data[:], self.sink.data[:], 0
        for at in range(0, self.total, READ):
            if sink[at : at + READ] != source[at : at + READ]:
                assert sink[at : at + READ] == bytes(READ), f"wrong bytes in the read at {at:#x}"
                failed += 1
        return failed

    def counters(self):
        return {name: self.card.read(f"pcie_endpoint_read_{name}") for name in COUNTERS}


def strike(start_board, tmp_path, kind, seed, least, more=()):
    """Run rounds until `kind` has struck `least` times; returns how often each fault struck."""
    rate, counter = FAILURES[kind]
    script = tmp_path / "faults"
    # The block drops a stray copy of a malformed completion, too, so no counter would show it.
    strays = {} if kind == "malformed-completion" else STRAYS
    lines = {kind: rate, **strays}
    script.write_text("".join(f"random {name} {rate}\n" for name, rate in lines.items()))
    latency = "uniform:100:2000"
    # With RCB as large as a read all tags together fit the completion space. The model does not
    # see that the endpoint gives up a read, and counts its space until the tag is used again.
    options = ["--faults", script, "--seed", seed, "--read-latency", latency, "--stall", 5]
    options += ["--rcb", READ, *more]
    with start_board(*options) as board:
        run, zeros = Round(board, random.Random(seed), TOTAL // 8 if kind in LOST else TOTAL), 0
        while board.stats()["struck"].get(kind, 0) < least:
            zeros += run.run()
        counted, struck = run.counters(), board.stats()["struck"]
    print(f"seed {seed}: {struck}, counted {counted}")
    expected = dict.fromkeys(COUNTERS, 0)
    expected[counter] = struck[kind]
    expected["unexpected"] = struck.get("unexpected", 0) + struck.get("duplicate", 0)
    assert counted == expected
    assert zeros == struck[kind]
    return struck


@each_seed(1)
@pytest.mark.parametrize("kind", FAILURES)
def test_a_thousand_faults_leave_no_trace_but_their_count(start_board, tmp_path, kind, seed):
    """After a thousand faults of a kind, with strays beside them, only the counters show them."""
    strike(start_board, tmp_path, kind, seed, 1000)


def test_one_bit_that_nobody_reports_is_found(start_board, tmp_path):
    """A flipped bit among all these faults is not taken for a failed read: the campaign names the
    read with the wrong byte."""
    with pytest.raises(AssertionError, match="wrong bytes in the read at 0x"):
        strike(start_board, tmp_path, "ur", 1, 1000, ["--fault", "flip-h2c:3000"])


@pytest.mark.soak
@each_seed(1)
@pytest.mark.parametrize("kind", FAILURES)
def test_a_hundred_thousand_faults_of_each_kind(start_board, tmp_path, kind, seed):
    """The same with 100,000 faults of each kind, or 16,000 where each read waits for its timeout:
    long enough to meet what is rare."""
    strike(start_board, tmp_path, kind, seed, 16_000 if kind in LOST else 100_000)
