# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the rules for user logic at the hard block's pins (RC, handshakes). Each rule is broken
by one case and kept by another."""

import pytest

from sim.test.model.model_probe import MEMORY, RUN, decode_cq, packets, request, run

EXTENDED_TAGS = "config 78 2 2910"  # Device Control: extended tags, MPS 128, MRRS 512
RCB_128 = "config 80 2 8"
MRRS_4096 = "config 78 2 5910"
# Command after which, from the cycle after the next on, the hard block is ready in no cycle.
STALL = "stall 64"
NEVER_READY = [STALL, "run 1"]
READY = "stall 0"


def offered(commands):
    """Return the same commands, but with each RQ beat offered for one cycle only, whether it is
    taken or not."""
    return [command.replace("rq ", "offer ") for command in commands]


def reads(count, dwords=128, address=MEMORY, tags=0):
    return [c for i in range(count) for c in request(False, address, dwords, tag=tags + i)]


WRITE, OTHER = request(True, MEMORY, 4), request(True, MEMORY + 4096, 4)
LONG = request(True, MEMORY, 16)

# {name of the case: (commands to model_probe.cpp, the hard block's rules that they break)}
CASES = {
    "a beat refused and offered again": (
        [*NEVER_READY, *offered(WRITE) * 3, READY, *offered(WRITE), *WRITE],
        set(),
    ),
    "a beat refused and changed": (
        [*NEVER_READY, *offered(WRITE), READY, *offered(OTHER), *OTHER],
        {"offered-beat"},
    ),
    "a beat refused and withdrawn": ([*NEVER_READY, *offered(WRITE), "run 1"], {"offered-beat"}),
    "a later beat refused and changed": (
        [STALL, LONG[0], *offered(LONG[1:]), READY, *LONG[1:]],
        {"offered-beat"},
    ),
    "a later beat withdrawn is a gap": (
        [STALL, LONG[0], *offered([LONG[1]]), "run 1"],
        {"tvalid-gap"},
    ),
    "reads that may bring 256 completions": ([EXTENDED_TAGS, *reads(32)], set()),
    "reads that may bring 257": (
        [EXTENDED_TAGS, *reads(32), *reads(1, 1, tags=32)],
        {"completion-space"},
    ),
    "a read that crosses one boundary more": (
        [EXTENDED_TAGS, *reads(31), *reads(1, address=MEMORY + 4, tags=31)],
        {"completion-space"},
    ),
    "as many bytes with an RCB of 128": ([EXTENDED_TAGS, RCB_128, *reads(64)], set()),
    "32 KiB and a dword with an RCB of 128": (
        [MRRS_4096, RCB_128, *reads(8, 1024), *reads(1, 1, tags=8)],
        {"completion-space"},
    ),
    "reads again after their completions": (
        [EXTENDED_TAGS, *reads(32), f"run {4 * RUN}", *reads(32)],
        set(),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_rule_can_be_broken_and_kept(case):
    """The commands of each case break exactly the rules of its row in CASES; a legal case breaks
    none."""
    commands, rules = CASES[case]
    assert run([*commands, f"run {4 * RUN}"], straddle=True).broken == rules


def test_held_completions_are_flagged():
    """User logic that is not ready on RC breaks the rule `rc-backpressure`. The completions come
    later, with the same data."""
    held = run([*reads(1, 16), "hold", f"run {RUN}", "take", f"run {RUN}"])
    assert held.broken == {"rc-backpressure"}
    assert [packet[3:] for packet in packets(held.rc)] == [
        packet[3:] for packet in packets(run([*reads(1, 16), f"run {RUN}"]).rc)
    ]


def test_a_read_without_credit_does_not_block_writes():
    """Posted writes pass a host read that waits for a credit of pcie_cq_np_req. Writes before that
    read stay before it."""
    # run() has granted two credits for reads in its set-up, so the host's third read has none.
    accesses = ["write 0 4 1", "read 4 4", "read 8 4", "read c 4", "write 10 4 1", "write 14 4 1"]
    seen = run(["grant 0", *accesses, f"run {RUN}"])
    order = [(f["type"], f["address"] & 0xFF) for f in map(decode_cq, packets(seen.cq))]
    assert order == [(1, 0x0), (0, 0x4), (0, 0x8), (1, 0x10), (1, 0x14)]
    seen = run(["grant 0", *accesses, f"run {RUN}", "grant 1", "run 10"])
    last = decode_cq(packets(seen.cq)[-1])
    assert (last["type"], last["address"] & 0xFF) == (0, 0xC)


def test_with_credit_reads_and_writes_stay_in_order():
    """While reads have credits, user logic sees the host's requests in the order in which they came
    from the link."""
    seen = run(["read 0 4", "write 4 4 1", "read 8 4", "write c 4 1", f"run {RUN}"])
    addresses = [decode_cq(packet)["address"] & 0xFF for packet in packets(seen.cq)]
    assert addresses == [0x0, 0x4, 0x8, 0xC]
