# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns of a thousand faults of each kind: nothing hangs, no byte is wrong, each fault is
counted once.

Data goes from host memory through the card (h2c looped back to c2h) into another buffer of host
memory. Where a read of the card failed, the buffer must have zeros over the read's full length. The
source has no zero byte, so these zeros cannot be real data. All other data must be unchanged. The
endpoint's error counters must equal the number of faults that the simulation made. The hard block's
completion timeout is off: the endpoint itself ends a read without an answer, after 20 us.
"""

import random
import time

import pytest

from sim.test.board.board_client import HIGH_MEMORY
from tools.testing.seeds import each_seed

READ = 128  # bytes of each read by the card: MRRS, RCB and the size of completions are this large
PIECE = 8192
# Bytes that one round moves. A fault whose read must wait for the completion timeout has rounds of
# an eighth of that.
TOTAL = 1 << 20
SECONDS = 60  # seconds of wall time that one round may take; it normally takes a fraction of one

# These faults leave a read without an answer, so that the read ends by the timeout.
LOST = {"drop-completion", "malformed-completion"}
# {fault: (its chance at each read of the card, 0 to 1; the endpoint's counter that must count it)}
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
# Every round also has these faults, with their chances: completions that no read waits for, and
# TLPs that the link replays.
STRAYS = {"unexpected": 0.3, "duplicate": 0.3, "replay-up": 0.01, "replay-down": 0.01}
COUNTERS = [*{counter for _, counter in FAILURES.values()}, "cut", "unexpected", "late"]


class Round:
    """A board with random faults. Its card loops h2c back to c2h, from the buffer `source` to
    `sink`."""

    def __init__(self, board, rng, total):
        self.board, self.total = board, total
        self.card = card = board.card(mps=READ, mrrs=READ)
        card.give_up_reads()
        self.source = card.memory(HIGH_MEMORY, total)
        self.sink = card.memory(HIGH_MEMORY + 2 * TOTAL, total)
        # No byte of the source buffer in host memory is zero, and no two reads of the card get the
        # same data.
        data = bytearray(rng.randbytes(total).replace(b"\0", b"\1"))
        for at in range(0, total, READ):
            number = at // READ
            data[at : at + 2] = bytes([0x80 | number & 0x7F, 0x80 | number >> 7])
        self.source.data[:] = bytes(data)

    def run(self):
        """Move the source buffer through the card's loopback once; returns how many of the card's
        reads came back as zeros."""
        card, sink, total = self.card, self.sink, self.total
        sink.data[:] = b"\xff" * total
        pieces = [(at, PIECE) for at in range(0, total, PIECE)]
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", [(self.source.address + at, n) for at, n in pieces], "none")
        card.program("c2h", [(sink.address + at, n) for at, n in pieces], "none")
        before = self.board.stats()["rq"]["payload_bytes"]
        card.start("c2h", "h2c")
        self.wait(before + total)
        # By PCIe's ordering rules, the answer to this host read comes after all of the card's
        # writes.
        card.read("device_time_low")
        card.stop()
        return self.compare()

    def wait(self, written):
        """Wait until the card has sent `written` bytes of payload on RQ since the start.

        The pause between two reads of the counters is long, since each read slows the board down.
        """
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
    """Run rounds until the fault `kind` has struck `least` times; returns how often each fault
    struck."""
    rate, counter = FAILURES[kind]
    script = tmp_path / "faults"
    # The hard block drops a second copy of a malformed completion, so the endpoint could not count
    # it.
    strays = {} if kind == "malformed-completion" else STRAYS
    lines = {kind: rate, **strays}
    script.write_text("".join(f"random {name} {rate}\n" for name, rate in lines.items()))
    latency = "uniform:100:2000"
    # With RCB as large as a read, all tags together fit the completion space. That matters because
    # the model keeps the space of a read which the endpoint has given up until its tag is used
    # again.
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
    """A thousand faults of each kind, with unexpected completions and replays among them: the
    endpoint's counters are exact, and no byte is wrong."""
    strike(start_board, tmp_path, kind, seed, 1000)


def test_one_bit_that_nobody_reports_is_found(start_board, tmp_path):
    """One flipped bit among a thousand failed reads is found: the campaign stops and names the read
    with the wrong byte, and does not take it for a failed read."""
    with pytest.raises(AssertionError, match="wrong bytes in the read at 0x"):
        strike(start_board, tmp_path, "ur", 1, 1000, ["--fault", "flip-h2c:3000"])


@pytest.mark.soak
@each_seed(1)
@pytest.mark.parametrize("kind", FAILURES)
def test_a_hundred_thousand_faults_of_each_kind(start_board, tmp_path, kind, seed):
    """100,000 faults of each kind, or 16,000 where the read must wait for its timeout: the
    endpoint's counters are exact, and no byte is wrong."""
    strike(start_board, tmp_path, kind, seed, 16_000 if kind in LOST else 100_000)
