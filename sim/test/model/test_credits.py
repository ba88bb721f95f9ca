# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of credits at the hard block's pins: tags, non-posted credits both ways, sequence numbers,
cfg_fc_*."""

import pytest

from sim.test.model.model_probe import MEMORY, RUN, completion, request, run

EXTENDED_TAGS = "config 78 2 2910"
LONG = 100_000  # ns of device time, longer than a test runs
# This command makes the host accept one write, and then nothing for LONG ns.
BUSY = f"busy {LONG:x}"
ONE = request(True, MEMORY, 1)
HOST = {"ph": 128, "pd": 1024, "nph": 128, "npd": 128, "cplh": 0, "cpld": 0}
BLOCK = {"ph": 64, "pd": 1024, "nph": 64, "npd": 64, "cplh": 0, "cpld": 0}
AVAILABLE, LIMIT, CONSUMED, SPACE = range(4)
TRANSMIT = 4


def reads(count):
    return [c for tag in range(count) for c in request(False, MEMORY, 1, tag=tag)]


def state(commands, select=0):
    """Return the tag and credit pins after `commands`, with cfg_fc_sel at `select`, as {name:
    value}."""
    return run([*commands, f"state {select:x}"]).states[-1]


def fc(commands, select):
    return {name: state(commands, select)[name] for name in HOST}


@pytest.mark.parametrize("count, free", [(0, 15), (17, 15), (18, 14), (31, 1), (32, 0)])
def test_free_tags(count, free):
    """pcie_rq_tag_av falls by one with each of the 32 tags in use. It shows 15 if 15 or more are
    free."""
    assert state(reads(count))["tag_av"] == free


def test_free_tags_with_extended_tags():
    """With extended tags 256 tags can be used, and after its completion a tag is free again."""
    assert state([EXTENDED_TAGS, *reads(100)])["tag_av"] == 15
    assert state([*reads(32), f"run {RUN}"])["tag_av"] == 15


@pytest.mark.parametrize("count, left", [(0, 15), (100, 15), (120, 8), (127, 1), (128, 0)])
def test_non_posted_credits_towards_the_host(count, left):
    """pcie_tfc_nph_av falls by one with each read that waits for a busy host. pcie_tfc_npd_av
    stays, since reads carry no data."""
    pins = state([EXTENDED_TAGS, BUSY, *ONE, "run 20", *ONE, *reads(count), f"run {RUN}"])
    assert (pins["nph_av"], pins["npd_av"]) == (left, 15)


def test_credits_come_back():
    """Once the host has accepted the reads that waited, its next flow-control update gives all
    non-posted credits back."""
    assert state([EXTENDED_TAGS, *reads(128), f"run {RUN}"])["nph_av"] == 15
    assert fc([EXTENDED_TAGS, *reads(128), f"run {RUN}"], TRANSMIT + AVAILABLE) == HOST


def test_writes_stop_when_the_host_has_no_room():
    """A busy host's 128 posted header credits are used up by writes. Later writes wait without
    loss, and arrive once the host accepts again."""
    writes = [c for i in range(200) for c in request(True, MEMORY + 4 * i, 1)]
    # Each write of the card is offered on RQ for one cycle only; the hard block refuses those that
    # find no room.
    offers = [c.replace("rq ", "offer ") for c in writes]
    pins = fc(["busy 7d0", *offers, f"run {RUN}"], TRANSMIT + AVAILABLE)
    assert pins["ph"] == 0 and pins["nph"] == 128
    seen = run(["busy 64", *writes, f"run {20 * RUN}"])
    assert len(seen.stored) == 800 and seen.broken == set()


def test_completions_pass_requests_that_wait_for_credits():
    """While reads on RQ wait for credits, the block still accepts a completion on CC, and the
    host's read is answered."""
    stuck = [c.replace("rq ", "offer ") for c in reads(170)]
    answer = completion(0, 4, [0x12345678], low=0x10)
    before = [EXTENDED_TAGS, "read 10 4", f"run {RUN}", "busy 7d0", *ONE, "run 20", *ONE]
    seen = run([*before, *stuck, *answer, f"state {TRANSMIT:x}", f"run {4 * RUN}"])
    assert seen.states[0]["nph"] == 0, "RQ must still wait for credits once CC has taken the answer"
    assert seen.answers == [(True, 0x12345678)]


@pytest.mark.parametrize("grants, left", [(1, 3), (29, 31), (30, 32), (100, 32)])
def test_np_req_count_saturates_at_32(grants, left):
    """pcie_cq_np_req_count rises by one with each cycle of pcie_cq_np_req, up to 32. The set-up of
    run() already has two such cycles."""
    assert state([f"run {grants}", "grant 0"])["np_req_count"] == left


def test_np_req_count_falls_with_each_read():
    """Each read on CQ lowers pcie_cq_np_req_count by one; a write does not."""
    pins = state(["run 8", "grant 0", "read 0 4", "read 4 4", "write 8 4 1", f"run {RUN}"])
    assert pins["np_req_count"] == 8


def test_sequence_numbers_in_order():
    """pcie_rq_seq_num0/1 show the sequence number of each request once, in order, after it has left
    the block."""
    numbers = [1, 0x3F, 0, 0x20, 7, 7]
    commands = []
    for number in numbers:
        commands += [f"seq {number:x}", *request(True, MEMORY, 16)]
    assert run([*commands, f"run {RUN}"]).sequence == numbers
    assert run([*commands, "run 2"]).sequence == numbers, (
        "the wire is free, so numbers appear at once"
    )


def test_sequence_numbers_wait_for_credits():
    """The sequence number of a request that waits for a credit is shown only after the request has
    left."""
    commands = ["busy 7d0"]
    for i in range(140):
        commands += [f"seq {i % 64:x}", *ONE]
    assert len(run([*commands, f"run {RUN // 2}"]).sequence) < 135
    assert run([*commands, f"run {2000 * 140 // 4}"]).sequence == [i % 64 for i in range(140)]


def test_an_msi_shows_no_sequence_number():
    """An MSI is no request on RQ and has no sequence number. After ten MSIs, a write's sequence
    number still waits until the write has left the block."""
    commands = [*["msi", "run 20"] * 10, "busy 7d0"]
    for i in range(140):
        commands += [f"seq {i % 64:x}", *ONE]
    waiting = f"run {RUN // 2}"
    with_msi, without = run([*commands, waiting]), run([*commands[20:], waiting])
    assert with_msi.interrupts == 10 and len(with_msi.sequence) <= len(without.sequence)


def test_receive_credits():
    """With cfg_fc_sel 0 to 3 the cfg_fc_* pins show the state of the hard block's own receive
    buffers. The hard block's completion credits are infinite and show as 0."""
    assert fc([], AVAILABLE) == fc([], LIMIT) == fc([], SPACE) == BLOCK
    assert set(fc([], CONSUMED).values()) == {0}
    # The set-up has granted two reads, so three of the five wait in the receive buffer. The write
    # has left it.
    waiting = ["grant 0", *["read 0 4"] * 5, "write 8 8 1", f"run {RUN}"]
    assert fc(waiting, CONSUMED) == {**dict.fromkeys(HOST, 0), "nph": 5, "ph": 1, "pd": 1}
    assert fc(waiting, SPACE) == {**BLOCK, "nph": 61}
    assert fc(waiting, AVAILABLE) == {**BLOCK, "nph": 61}
    assert fc(waiting, LIMIT) == {**BLOCK, "nph": 66, "ph": 65, "pd": 1025}


def test_transmit_credits():
    """With cfg_fc_sel 4 to 6 the cfg_fc_* pins show the credits that the host has granted and those
    that the card has used. 7 is reserved and shows 0."""
    assert fc([], TRANSMIT + AVAILABLE) == fc([], TRANSMIT + LIMIT) == HOST
    sent = [BUSY, *ONE, "run 60", *request(True, MEMORY, 13), *reads(3)]
    sent += [f"run {RUN}"]
    used = {**dict.fromkeys(HOST, 0), "ph": 2, "pd": 5, "nph": 3}
    assert fc(sent, TRANSMIT + CONSUMED) == used
    assert fc(sent, TRANSMIT + AVAILABLE) == {**HOST, "ph": 127, "pd": 1020, "nph": 125}
    assert set(fc(sent, 7).values()) == {0}
