# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Faults of every kind in great numbers: nothing hangs, no byte is wrong, each is counted once.

Host memory goes through the card and back. A read that failed comes back as zeros, which host
memory has none of, and whole; all else is as it was. What the endpoint has counted is what the
model has made. The hard block's own time-out is off, so that reads are given up by the endpoint,
after 20 us.
"""

import random
import time

import pytest
from board_client import HIGH_MEMORY
from seeds import each_seed

READ = 128  # bytes of a read: MRRS, RCB, and one completion
PIECE = 8192
TOTAL = 1 << 20  # of a round; an eighth of it where reads wait for the timeout
SECONDS = 60  # of wall time for one round, which takes a fraction of one

# By what strikes: the chance of it at each read, and the counter that goes up by it.
LOST = {"drop-completion", "malformed-completion"}  # nothing comes of these
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
# Beside each of them: completions that nobody waits for, and TLPs that cross the link twice.
STRAYS = {"unexpected": 0.3, "duplicate": 0.3, "replay-up": 0.01, "replay-down": 0.01}
COUNTERS = [*{counter for _, counter in FAILURES.values()}, "cut", "unexpected", "late"]


class Round:
    """A board with faults at random, its card, and a buffer at either end."""

    def __init__(self, board, rng, total):
        self.board, self.total = board, total
        self.card = card = board.card(mps=READ, mrrs=READ)
        card.give_up_reads()
        self.source = card.memory(HIGH_MEMORY, total)
        self.sink = card.memory(HIGH_MEMORY + 2 * TOTAL, total)
        # No byte of it is zero, and no two reads are alike.
        data = bytearray(rng.randbytes(total).replace(b"\0", b"\1"))
        for at in range(0, total, READ):
            number = at // READ
            data[at : at + 2] = bytes([0x80 | number & 0x7F, 0x80 | number >> 7])
        self.source.data[:] = bytes(data)

    def run(self):
        """Everything once through the card; how many reads came back as zeros."""
        card, sink, total = self.card, self.sink, self.total
        sink.data[:] = b"\xff" * total
        pieces = [(at, PIECE) for at in range(0, total, PIECE)]
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", [(self.source.address + at, n) for at, n in pieces], "none")
        card.program("c2h", [(sink.address + at, n) for at, n in pieces], "none")
        before = self.board.stats()["rq"]["payload_bytes"]
        card.start("c2h", "h2c")
        self.wait(before + total)
        card.read("device_time_low")  # its answer comes behind all writes
        card.stop()
        return self.compare()

    def wait(self, written):
        """Until so many bytes have passed RQ; asking more often would slow the board down."""
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
    """Rounds until `kind`, and each stray, has struck so often."""
    rate, counter = FAILURES[kind]
    script = tmp_path / "faults"
    # A stray copy of what the block drops is dropped as well: nobody could count it.
    strays = {} if kind == "malformed-completion" else STRAYS
    lines = {kind: rate, **strays}
    script.write_text("".join(f"random {name} {rate}\n" for name, rate in lines.items()))
    latency = "uniform:100:2000"
    # With RCB as large as a read all tags together fit the completion space: the model does not
    # know when the endpoint gives up a read, and counts it until its tag comes again.
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
    """Reads refused, aborted, poisoned, malformed or never answered; strays beside them."""
    strike(start_board, tmp_path, kind, seed, 1000)


def test_one_bit_that_nobody_reports_is_found(start_board, tmp_path):
    """A flipped bit among all these faults is no failed read: the campaign says where."""
    with pytest.raises(AssertionError, match="wrong bytes in the read at 0x"):
        strike(start_board, tmp_path, "ur", 1, 1000, ["--fault", "flip-h2c:3000"])


@pytest.mark.soak
@each_seed(1)
@pytest.mark.parametrize("kind", FAILURES)
def test_a_hundred_thousand_faults_of_each_kind(start_board, tmp_path, kind, seed):
    """The same as above, for long enough to meet what is rare; what is never answered takes most of
    the time, and has a sixth of the number."""
    strike(start_board, tmp_path, kind, seed, 16_000 if kind in LOST else 100_000)
