# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the peer, another PCIe device in the simulation: its accesses to the card's BAR and its
checks.

The peer writes or reads the BAR as a requester of its own. It compares all data that it reads, and
notices every wrong completion.
"""

import pytest

from sim.board.process import BoardFailed
from sim.test.board.board_client import wait_until
from sim.test.link.root_probe import run

BAR0 = 0xE000_0000
MEMORY0, PAGE = 0x10000, 4096
MPS_512 = "config 78 1 50"  # command that writes MPS 512 to Device Control


def peer_pattern(offset, count=4):
    """Return the bytes that the peer writes, and later expects, at `count` bytes of the BAR from
    `offset` on."""
    dwords = ((at // 4 + 1) * 0x9E3779B1 & 0xFFFF_FFFF for at in range(offset, offset + count, 4))
    return b"".join(dword.to_bytes(4, "little") for dword in dwords)


# The root complex alone: the test itself writes the completions ---------------------------------


@pytest.mark.parametrize("size", [4, 64, 128, 512])
def test_writes_walk_through_their_page(size):
    """The peer's writes of one size go to consecutive addresses, and begin again at the end of the
    4 KiB page."""
    count = 2 * PAGE // size + 1
    seen = run(
        MPS_512, f"peer write {MEMORY0:x} {size} {count} 1", f"run {count * 400}", "peer-stats"
    )
    assert [(w, a - BAR0, d) for _, w, a, d, _, _ in seen.requests] == [
        (True, MEMORY0 + i * size % PAGE, size // 4) for i in range(count)
    ]
    assert all(data == peer_pattern(a - BAR0, size) for _, _, a, _, _, data in seen.requests)
    counts = seen.peer_counts()
    assert counts["bytes"] == count * size and counts["completed"] == count and not counts["busy"]


def test_flat_out_is_the_link():
    """Without a gap the peer's writes of 512 bytes leave back to back: 7.42 GB/s of payload, the
    limit of a Gen3 x8 link."""
    seen = run(MPS_512, f"peer write {MEMORY0:x} 512 200 1", "run 40000")
    first, last = seen.requests[60][0], seen.requests[-1][0]
    assert (199 - 60) * 512 / (last - first) == pytest.approx(7.42, rel=0.02)


def test_a_gap_paces():
    """With a gap of 1000 ns, the peer (another PCIe device) reads the card at most once in 1000
    ns."""
    times = [r[0] for r in run(f"peer read {MEMORY0:x} 4 20 32 1000", "run 30000").requests]
    assert len(times) == 20 and all(1000 <= b - a <= 1016 for a, b in zip(times[1:], times[2:]))


@pytest.mark.parametrize("tags", [1, 7, 256])
def test_no_more_reads_than_tags(tags):
    """The peer (another PCIe device) has exactly as many reads in flight as its job has tags. Each
    read has a tag of its own."""
    seen = run(f"peer read {MEMORY0:x} 4 1000 {tags}", "run 20000")
    arrived = len(seen.requests)
    assert arrived == tags and {r[4] for r in seen.requests} == set(range(tags))


def one_read(size, *completions, offset=MEMORY0, refused=False):
    """Run one read of `size` bytes by the peer (another PCIe device) on the root complex alone.
    Returns what root_probe.cpp printed.

    Each of `completions` is an answer of the card: (lower address, byte count, dwords, BAR offset
    whose pattern is the data).
    """
    answers = [f"pcpl 0 {low} {count} {dwords} {at:x}" for low, count, dwords, at in completions]
    asked = f"peer read {offset:x} {size} 1 1"
    return run(MPS_512, asked, "run 1000", *answers, "run 1000", "peer-stats", refused=refused)


@pytest.mark.parametrize(
    "offset,pieces", [(0, [512]), (0, [128] * 4), (4, [124, 256, 128]), (64, [64, 384, 60])]
)
def test_right_completions_are_taken(offset, pieces):
    """The peer (another PCIe device that reads the card) accepts completions that are split at any
    128-byte boundaries."""
    at, size, parts = MEMORY0 + offset, sum(pieces), []
    for piece in pieces:
        parts.append((at & 0x7F, size - (at - MEMORY0 - offset), piece // 4, at))
        at += piece
    counts = one_read(size, *parts, offset=MEMORY0 + offset).peer_counts()
    assert (counts["completed"], counts["bytes"], counts["mismatches"]) == (1, size, 0)


@pytest.mark.parametrize(
    "size,completion,rule",
    [
        (256, (0, 252, 64, MEMORY0), "bytes left: 256"),
        (256, (4, 256, 64, MEMORY0), "lower address must be 0"),
        (256, (0, 256, 16, MEMORY0), "it ends inside 128 aligned bytes"),
        (256, (0, 256, 65, MEMORY0), "its length does not fit the 256 bytes left"),
    ],
)
def test_a_wrong_completion_breaks_a_rule(size, completion, rule):
    """A completion with a wrong byte count, lower address, split or length breaks the rule
    `completion-byte-count`. The report has the right value."""
    error = one_read(size, completion, refused=True)
    assert "rule completion-byte-count broken" in error and rule in error


def test_a_completion_above_mps_breaks_a_rule():
    """A completion of the card with more payload than the programmed MPS breaks a rule."""
    asked = ["config 78 1 10", f"peer read {MEMORY0:x} 256 1 1", "run 1000"]
    error = run(*asked, f"pcpl 0 0 256 64 {MEMORY0:x}", "run 1000", refused=True)
    assert "payload above MPS" in error


def test_an_unasked_completion_breaks_a_rule():
    """A completion of the card for a tag that is not in flight breaks the rule
    `unexpected-completion`. The report names the tag."""
    error = run(f"pcpl 9 0 4 1 {MEMORY0:x}", "run 1000", refused=True)
    assert "rule unexpected-completion broken" in error and "tag 9" in error


def test_data_in_the_wrong_order_is_seen():
    """If the card exchanges the two halves of the data that a peer reads, the peer counts 64 dwords
    as mismatches."""
    parts = [(0, 256, 32, MEMORY0 + 128), (0, 128, 32, MEMORY0)]
    counts = one_read(256, *parts).peer_counts()
    assert (counts["completed"], counts["mismatches"]) == (1, 64)


def test_a_read_without_an_answer_ends():
    """A read of the peer without an answer is counted as a timeout after a millisecond. Its tag is
    then used again."""
    asked = f"peer read {MEMORY0:x} 4 2 1"
    counts = run(asked, "run 1100000", f"pcpl 0 4 4 1 {MEMORY0 + 4:x}", "run 1000", "peer-stats")
    counts = counts.peer_counts()
    assert (counts["timeouts"], counts["completed"], counts["busy"]) == (1, 1, 0)


# The whole board: the gateware answers -----------------------------------------------------------


def peer(board, command):
    """Let the peer (another PCIe device) carry out a job of accesses to the card; returns its
    counters."""
    board.command(f"peer {command}")
    wait_until(lambda: not board.stats()["peer"]["busy"], f"the end of peer {command}")
    return board.stats()["peer"]


@pytest.mark.parametrize("tags", [1, 8, 32, 256])
def test_dwords_come_back_as_written(start_board, tags):
    """The CPU and the peer read from the BAR what the peer wrote, with any number of reads in
    flight."""
    with start_board() as board:
        card = board.card()
        assert peer(board, f"write {MEMORY0} 4 1024 1")["bytes"] == PAGE
        for offset in (MEMORY0, MEMORY0 + 0x7FC, MEMORY0 + PAGE - 4):
            assert card.mmio_read(offset).to_bytes(4, "little") == peer_pattern(offset)
        counts = peer(board, f"read {MEMORY0} 4 2048 {tags}")
        assert (counts["completed"], counts["bytes"]) == (2048, 8192)
        assert (counts["errors"], counts["mismatches"], counts["timeouts"]) == (0, 0, 0)
        print(f"{tags} tags: {counts['ticks'] / 2048:.1f} ticks a read")


def test_a_mismatch_is_seen(start_board):
    """If the CPU changes one dword after the peer wrote it, the peer counts exactly one
    mismatch."""
    with start_board() as board:
        card = board.card()
        peer(board, f"write {MEMORY0} 4 1024 1")
        card.mmio_write(MEMORY0 + 0x100, 0)
        card.read("ctrl_scratch")
        assert peer(board, f"read {MEMORY0} 4 1024 16")["mismatches"] == 1


def test_the_cpu_gets_its_answers_beside_the_peer(start_board):
    """The CPU's reads are answered rightly while the peer reads with the same tags: requester IDs
    tell the two apart."""
    with start_board() as board:
        card = board.card()
        board.command(f"peer read {MEMORY0} 4 20000 32")
        while board.stats()["peer"]["busy"]:
            assert card.read("ctrl_scratch") == 0x12345678
        counts = board.stats()["peer"]
        assert (counts["completed"], counts["errors"]) == (20000, 0)


@pytest.mark.parametrize("size", [8, 64, 512])
def test_stock_answers_larger_reads_wrongly_and_nothing_hangs(start_stock, size):
    """LitePCIe 2024.12 answers a read of several dwords with one dword. The peer counts each as an
    error, and nothing hangs."""
    with start_stock("--rules", "warn", violations=["completion-byte-count"]) as board:
        card = board.card()
        counts = peer(board, f"read {MEMORY0} {size} 200 16")
        assert (counts["completed"], counts["errors"], counts["timeouts"]) == (0, 200, 0)
        assert card.read("ctrl_scratch") == 0x12345678


@pytest.mark.parametrize(
    "command,rule",
    [
        ("peer", "peer read|write [bar0|bar2] OFFSET SIZE COUNT TAGS [GAP_NS]"),
        ("peer erase 0 4 1 1", "peer read|write"),
        ("peer read bar1 0 4 1 1", "[bar0|bar2]"),
        ("peer read bar2 0 4 1 1", "BAR2 does not exist"),
        ("peer read 0 6 1 1", "multiple of 4 from 4 to 512 (MRRS)"),
        ("peer read 0 1024 1 1", "512 (MRRS)"),
        ("peer write 0 512 1 1", "256 (MPS)"),
        ("peer read 131072 4 1 1", "in the BAR"),
        ("peer read 4092 8 1 1", "inside its 4 KiB page"),
        ("peer read 0 4 0 1", "COUNT must be 1"),
        ("peer read 0 4 1 257", "from 1 to 256"),
    ],
)
def test_a_job_that_cannot_be_is_refused(start_stock, command, rule):
    """The command `peer` with a job that cannot be done is refused with the rule that it breaks,
    and the peer sends nothing."""
    with start_stock() as board:
        board.card(mps=256)
        with pytest.raises(BoardFailed) as refusal:
            board.command(command)
        assert rule in str(refusal.value)
        assert board.stats()["peer"]["issued"] == 0


def test_a_reset_ends_a_job(start_board):
    """A device reset ends the job of the peer (another PCIe device), and its reads in flight end as
    errors. Another job runs afterwards."""
    with start_board() as board:
        card = board.card()
        board.command(f"peer read {MEMORY0} 4 100000000 32")
        card.client.reset()
        counts = board.stats()["peer"]
        assert not counts["busy"] and 0 < counts["errors"] <= 32
        card.enumerate()
        assert peer(board, f"read {MEMORY0} 4 100 8")["completed"] == 100
